import type { Zone } from '../src/zone.ts';

const HOUR_MS = 3_600_000;

/** The clock of the wall is UTC. */
export const UTC: Zone = { offsetAt: () => 0 };

/** 2026-03-29 01:00 UTC: 02:00 to 03:00 is left out. 2026-10-25 01:00 UTC: it comes twice. */
const SPRING = Date.UTC(2026, 2, 29, 1);
const AUTUMN = Date.UTC(2026, 9, 25, 1);

/** Berlin in 2026. */
export const BERLIN: Zone = {
  offsetAt: (ms) => (ms >= SPRING && ms < AUTUMN ? 2 * HOUR_MS : HOUR_MS),
};

/** The moment that a text of ISO 8601 in UTC names. */
export function at(text: string): number {
  return Date.parse(`${text}Z`);
}

/** A moment or a time of the wall as a text, to be read in a failure. */
export function shown(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString().replace('.000Z', '');
}
