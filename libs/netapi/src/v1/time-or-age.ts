import { RefusedRequest } from './problem.ts';

const UNITS_MS: Readonly<Record<string, number>> = { s: 1e3, m: 6e4, h: 3_600_000, d: 86_400_000 };

/** A time or an age that a parameter has, in unix ms, from 1970 on. @throws RefusedRequest */
export function timeOf(name: string, text: string, nowMs: number): number {
  const [, count = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const unitMs = UNITS_MS[unit];
  if (unitMs !== undefined) return Math.max(0, nowMs - Number(count) * unitMs);
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/.test(text);
  const timeMs = isTime ? Date.parse(text) : NaN;
  if (Number.isNaN(timeMs)) {
    throw new RefusedRequest('bad-request', `${name}: is neither a time nor an age, as 10m`);
  }
  return Math.max(0, timeMs);
}

/**
 * The moments that a list is asked for, as the store takes them: unix ms.
 * @throws RefusedRequest
 */
export function momentsOf<Name extends string>(
  asked: { readonly [One in Name]?: string | undefined },
  names: readonly Name[],
): { readonly [One in Name]?: number } {
  const nowMs = Date.now();
  const entries = names.flatMap((name) => {
    const text = asked[name];
    return text === undefined ? [] : [[name, timeOf(name, text, nowMs)]];
  });
  return Object.fromEntries(entries) as { readonly [One in Name]?: number };
}
