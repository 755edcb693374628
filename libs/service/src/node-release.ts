/**
 * The last day with security fixes of each release line of Node that runs Brine
 * (github.com/nodejs/Release, schedule.json).
 */
const LAST_DAYS: ReadonlyMap<number, string> = new Map([
  [20, '2026-04-30'],
  [21, '2024-06-01'],
  [22, '2027-04-30'],
  [23, '2025-06-01'],
  [24, '2028-04-30'],
  [25, '2026-06-01'],
  [26, '2029-04-30'],
]);

/**
 * The day on which security fixes ended for a version of Node (`20.20.2`), as `2026-04-30`.
 * Undefined before that day, and for lines that are newer than the table.
 */
export function endedOn(version: string, nowMs: number): string | undefined {
  const day = LAST_DAYS.get(Number(version.split('.', 1)[0]));
  return day !== undefined && nowMs >= Date.parse(day) + 24 * 3_600_000 ? day : undefined;
}
