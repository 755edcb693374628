/**
 * Three circles of tests. Each contains the one before it.
 *
 * - `change`: what each change waits for. All of pure, served and masters; of deep the smoke set
 *   and what the change reaches, of files that draw cases a sample.
 * - `release`: all of pure, served, masters and deep.
 * - `nightly`: that with all sizes at their largest, all releases of Node, the Debian packages, and
 *   the programs of {@link NIGHTLY}.
 */
export const CIRCLES = ['change', 'release', 'nightly'] as const;

/** One of them. */
export type Circle = (typeof CIRCLES)[number];

/** Narrows an argument of the command line. */
export function isCircle(word: string): word is Circle {
  return (CIRCLES as readonly string[]).includes(word);
}

/** Files of the deep layer that run for every change: the promises of the README, once each. */
export const SMOKE: ReadonlyMap<string, string> = new Map([
  ['test/interop/faults/kill.deep.test.ts', 'a kill of each service'],
  ['test/interop/faults/nats-away.deep.test.ts', 'an outage of NATS'],
  ['test/integration/faults/postgres-away.deep.test.ts', 'an outage of PostgreSQL'],
  ['test/integration/faults/rolling.deep.test.ts', 'a rolling restart'],
  ['test/simulation/more-seeds.deep.test.ts', 'a range of simulated seeds'],
  ['test/interop/transcripts/commands.deep.test.ts', 'recorded cases of the commands'],
  ['test/interop/http/recorded.deep.test.ts', 'recorded requests by HTTP'],
]);

/** Programs that only *nightly* runs, as `npm run …`. Each ends with an exit code. */
export const NIGHTLY: readonly (readonly string[])[] = [
  ['drift'],
  ['planted'],
  ['soak', '--', '--minutes', '30'],
  ['containers'],
];
