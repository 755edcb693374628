/** The longest time that a durable job may stay open, in seconds: 30 days. */
export const DURABLE_TTL_MAX_S = 30 * 86_400;

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/**
 * How long a durable job stays open, in seconds: a number, or a text as `90`, `90s`, `15m`, `12h`,
 * `2d`. Undefined for other values, and for times that are not positive or above
 * {@link DURABLE_TTL_MAX_S}.
 */
export function durableTtl(value: unknown): number | undefined {
  const seconds = typeof value === 'string' ? ofText(value) : value;
  if (typeof seconds !== 'number' || !(seconds > 0)) return undefined;
  return seconds <= DURABLE_TTL_MAX_S ? seconds : undefined;
}

function ofText(text: string): number | undefined {
  const [, digits, unit = 's'] = /^(\d{1,9}(?:\.\d{1,3})?)([smhd])?$/.exec(text.trim()) ?? [];
  const factor = UNITS[unit];
  return digits === undefined || factor === undefined ? undefined : Number(digits) * factor;
}
