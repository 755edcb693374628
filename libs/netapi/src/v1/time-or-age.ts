import { RefusedRequest } from './problem.ts';

const UNITS_MS: Readonly<Record<string, number>> = { s: 1e3, m: 6e4, h: 3_600_000, d: 86_400_000 };

/** A time or an age that a parameter has, in unix ms. @throws RefusedRequest */
export function timeOf(name: string, text: string, nowMs: number): number {
  const [, count = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const unitMs = UNITS_MS[unit];
  if (unitMs !== undefined) return nowMs - Number(count) * unitMs;
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/.test(text);
  const timeMs = isTime ? Date.parse(text) : NaN;
  if (Number.isNaN(timeMs)) {
    throw new RefusedRequest('bad-request', `${name}: is neither a time, an age nor a position`);
  }
  return timeMs;
}
