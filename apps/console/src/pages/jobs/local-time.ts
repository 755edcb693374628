/** A time for a field of the browser (`datetime-local`), which has local times without a zone. */
export function toLocalField(time: string | undefined): string {
  const ms = Date.parse(time ?? '');
  if (Number.isNaN(ms)) return '';
  const local = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19);
}

/** The time of such a field in UTC; empty for none. */
export function fromLocalField(text: string): string {
  const ms = new Date(text).getTime();
  return Number.isNaN(ms) ? '' : new Date(ms).toISOString();
}
