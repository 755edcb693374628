import { Releasers } from '@brine/service';
import type { LoadOptions, LoadResult } from '@brine/swarm';
import { Fleet } from '../load/fleet.ts';
import { startMaster } from '../masters/start-masters.ts';
import { spreadOf } from '../measure/statistics.ts';
import { cellOf, type Figure, figureOf } from '../report/figure.ts';
import type { Row, RowContext } from './row.ts';

/** Two people who are root by sudo: one key file, two users. */
const LOUD_USER = 'sudo_loud';
const CALM_USER = 'sudo_calm';
const MINIONS = 50;
const ROUNDS = 5;
/** So long that a p99 of the calm one's publishes is not simply the slowest of them. */
const SECONDS = 8;
/** What the calm one asks for: far below what the master can do. */
const CALM_PUBLISHES_PER_SECOND = 15;
const CALM_RETURNS_PER_SECOND = 200;
const WARM_UP_MS = 1_000;
const STORM_IN_FLIGHT = 256;
const LOUD_PLACES = 4;

/** A storm of one user's publishes or one minion's events: what another user or minion sees. */
export const FAIRNESS_ROW: Row = {
  name: 'fairness',
  about: 'p99 of one user’s publishes and of other minions’ returns, with and without a storm',
  inTable: false,
  run: runFairness,
};

async function runFairness({ installed, say }: RowContext): Promise<readonly Figure[]> {
  await using releasers = new Releasers();
  const master = await startMaster(installed, 'brine');
  releasers.add(() => master.close());
  const open = async (prefix: string, minions: number): Promise<Fleet> => {
    const behaviours = [{ share: 1, answer: 'never' }] as const;
    const fleet = await Fleet.start(master, { minions, prefix, behaviours, say });
    releasers.add(() => fleet.close());
    await fleet.logIn();
    return fleet;
  };
  const calm = await open('calm-', MINIONS);
  // One minion in many places: all of them have one id, and each has a request on its way.
  const loud = await Promise.all(Array.from({ length: LOUD_PLACES }, () => open('loud-', 1)));
  // Each asks from a process of its own, which has no minions that are busy with the storm's jobs:
  // else what is measured is how long the rig takes to look at an answer.
  const [calmAsker, loudAsker] = await Promise.all([open('asks-', 1), open('storms-', 1)]);
  const ask = (asker: Fleet, load: LoadOptions, user: string): Promise<LoadResult> =>
    asker.swarm.publishes({ ...load, user, cachedir: master.home.cacheDir, target: 'calm-*' });
  const users = await withAndWithout(say, 'publishes of another user', {
    calm: () => {
      const load = { inFlight: 64, ratePerSecond: CALM_PUBLISHES_PER_SECOND };
      return ask(calmAsker, { ...load, durationMs: SECONDS * 1_000 }, CALM_USER);
    },
    storm: (durationMs) => ask(loudAsker, { inFlight: STORM_IN_FLIGHT, durationMs }, LOUD_USER),
  });
  const minions = await withAndWithout(say, 'returns of other minions', {
    calm: () =>
      calm.swarm.returns({
        inFlight: 256,
        durationMs: SECONDS * 1_000,
        ratePerSecond: CALM_RETURNS_PER_SECOND,
      }),
    storm: async (durationMs) => {
      const load = { inFlight: 1, durationMs };
      return merged(await Promise.all(loud.map((one) => one.swarm.events(load))));
    },
  });
  return [
    ...figuresOf('publish of user B', 'user A publishes in a storm', users),
    ...figuresOf('return of minion B', 'minion A sends a storm of events', minions),
  ];
}

/** Storms of one minion as one: only what is read of them. */
function merged(results: readonly LoadResult[]): LoadResult {
  const [first] = results;
  if (first === undefined) throw new Error('no storm');
  const perSecond = results.reduce((sum, one) => sum + one.perSecond, 0);
  return { ...first, perSecond };
}

interface Seen {
  readonly alone: readonly LoadResult[];
  readonly beside: readonly LoadResult[];
  readonly storms: readonly LoadResult[];
}

/** The calm load alone and beside the storm, in turn. */
async function withAndWithout(
  say: (line: string) => void,
  what: string,
  load: {
    readonly calm: () => Promise<LoadResult>;
    readonly storm: (durationMs: number) => Promise<LoadResult>;
  },
): Promise<Seen> {
  const seen = {
    alone: [] as LoadResult[],
    beside: [] as LoadResult[],
    storms: [] as LoadResult[],
  };
  await Promise.all([load.calm(), load.storm(WARM_UP_MS)]);
  for (let round = 0; round < ROUNDS; round += 1) {
    say(`fairness: ${what}, ${round + 1} of ${ROUNDS}`);
    seen.alone.push(await load.calm());
    const storm = load.storm(SECONDS * 1_000);
    const [beside, stormed] = await Promise.all([load.calm(), storm]);
    seen.beside.push(beside);
    seen.storms.push(stormed);
  }
  return seen;
}

function figuresOf(what: string, storm: string, { alone, beside, storms }: Seen): Figure[] {
  const row = 'fairness';
  const p99 = (results: readonly LoadResult[]) => results.map(({ p99Ms }) => p99Ms);
  const lost = beside.reduce((sum, one) => sum + one.refused + one.timedOut, 0);
  const times =
    (spreadOf(p99(beside))?.median ?? Number.NaN) / (spreadOf(p99(alone))?.median ?? Number.NaN);
  const stormed = spreadOf(storms.map(({ perSecond }) => perSecond))?.median ?? 0;
  const head = { row, unit: 'ms', better: 'less' } as const;
  return [
    figureOf({ ...head, name: `${what}: p99 alone`, cells: { brine: cellOf(p99(alone)) } }),
    figureOf({
      ...head,
      name: `${what}: p99 while ${storm}`,
      cells: {
        brine: cellOf(p99(beside), {
          note:
            `${times.toFixed(2)} times, storm ${stormed.toFixed(0)}/s` +
            (lost > 0 ? `, ${lost} refused or lost` : ''),
          rigBound: [...beside, ...storms].some(({ bottleneck }) => bottleneck !== undefined),
          detail: { alone, beside, storms },
        }),
      },
    }),
  ];
}
