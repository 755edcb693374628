/** The lines of a field of a form, without empty ones. */
export function readLines(value: FormDataEntryValue | null): readonly string[] {
  if (typeof value !== 'string') return [];
  return value
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
