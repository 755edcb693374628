import { Releasers } from '@brine/service';
import type { LoadResult } from '@brine/swarm';
import { Fleet } from '../load/fleet.ts';
import type { MasterUnderTest } from '../masters/master.ts';
import { startMaster } from '../masters/start-masters.ts';
import { measured } from '../measure/slice.ts';
import { pairedRatios, spreadOf } from '../measure/statistics.ts';
import { cellOf, type Figure, figureOf } from '../report/figure.ts';
import type { Row, RowContext } from './row.ts';

const MINIONS = 500;
/** Many at once, as after a job for all; and one after the other, where each wait is seen whole. */
const LOADS = [
  { what: '128 at once', inFlight: 128 },
  { what: 'one at a time', inFlight: 1 },
] as const;
const WARM_UP_RETURNS = 1_000;
/** One at a time is slow: enough for a median. */
const ALONE_RETURNS = 300;

/** What a return waits for before it is answered; the first is the default. */
const PROMISES = [
  { name: 'ack: stream, 100ms', brine: {} },
  // What NATS does by itself: the price of the default is beside this.
  { name: 'ack: stream, 2m', brine: { sync_interval: '2m' } },
  { name: 'ack: store, 100ms', brine: { ack: 'store' } },
  { name: 'ack: stream, always', brine: { sync_interval: 'always' } },
  { name: 'ack: store, always', brine: { ack: 'store', sync_interval: 'always' } },
] as const;

/** What stricter promises cost, as ratios to the default in the same run. */
export const ACKS_ROW: Row = {
  name: 'acks',
  about: 'price of `brine.ack: store` and of `brine.sync_interval`, beside the default',
  inTable: false,
  run: runAcks,
};

interface Sample {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly micros: number;
  readonly result: LoadResult;
}

async function runAcks({ installed, pairs, sliceSeconds, say }: RowContext): Promise<Figure[]> {
  await using releasers = new Releasers();
  const sides: { readonly master: MasterUnderTest; readonly fleet: Fleet }[] = [];
  for (const { brine } of PROMISES) {
    const master = await startMaster(installed, 'brine', { config: { brine } });
    releasers.add(() => master.close());
    const behaviours = [{ share: 1, answer: 'never' }] as const;
    const fleet = await Fleet.start(master, { minions: MINIONS, behaviours, say });
    releasers.add(() => fleet.close());
    await fleet.logIn();
    sides.push({ master, fleet });
  }
  const figures: Figure[] = [];
  for (const { what, inFlight } of LOADS) {
    const counts: number[] = [];
    for (const { master, fleet } of sides) {
      const warm = await sample(master, fleet, inFlight === 1 ? 100 : WARM_UP_RETURNS, inFlight);
      const wanted = Math.round(warm.perSecond * sliceSeconds);
      counts.push(inFlight === 1 ? Math.min(ALONE_RETURNS, Math.max(50, wanted)) : wanted);
    }
    const samples: Sample[][] = sides.map(() => []);
    for (let round = 0; round < pairs; round += 1) {
      say(`acks: ${what}, ${round + 1} of ${pairs}`);
      const order = sides.map((_, index) => index);
      // Every second round goes backwards: a drift of the machine then favours neither.
      for (const index of round % 2 === 0 ? order : order.reverse()) {
        const side = sides[index];
        if (side === undefined) continue;
        const count = counts[index] ?? WARM_UP_RETURNS;
        samples[index]?.push(await sample(side.master, side.fleet, count, inFlight));
      }
    }
    figures.push(...figuresOf(what, samples));
  }
  return figures;
}

async function sample(
  master: MasterUnderTest,
  fleet: Fleet,
  count: number,
  inFlight: number,
): Promise<Sample> {
  const { storm } = await fleet.returns(count, inFlight);
  const { result, cpuSeconds } = await measured(master.tree, storm);
  const { perSecond, p50Ms, answered } = result;
  return { perSecond, p50Ms, micros: (cpuSeconds * 1e6) / Math.max(1, answered), result };
}

function figuresOf(what: string, samples: readonly (readonly Sample[])[]): Figure[] {
  const line = (
    name: string,
    unit: Figure['unit'],
    better: Figure['better'],
    read: (one: Sample) => number,
  ): Figure[] =>
    PROMISES.map((promise, index) => {
      const mine = samples[index] ?? [];
      const base = (samples[0] ?? []).map(read);
      const price = spreadOf(pairedRatios(mine.map(read), base));
      const lost = mine.reduce((sum, { result }) => sum + result.refused + result.timedOut, 0);
      const notes = [
        ...(index === 0 || price === undefined ? [] : [timesOf(price)]),
        ...(lost > 0 ? [`${lost} refused or lost`] : []),
      ];
      const cell = cellOf(mine.map(read), {
        rigBound: mine.some(({ result }) => result.bottleneck !== undefined),
        ...(notes.length > 0 ? { note: notes.join(', ') } : {}),
        detail: { results: mine.map(({ result }) => result) },
      });
      const head = { row: 'acks', name: `${promise.name}: ${name}, ${what}`, unit, better };
      return figureOf({ ...head, cells: { brine: cell } });
    });
  return [
    ...line('returns/s answered', '1/s', 'more', ({ perSecond }) => perSecond),
    ...line('p50', 'ms', 'less', ({ p50Ms }) => p50Ms),
    ...line('CPU per return', 'µs', 'less', ({ micros }) => micros),
  ];
}

/** As `1.25 times the default (1.2–1.31)`, the quartiles in brackets. */
function timesOf({ median, q1, q3 }: { median: number; q1: number; q3: number }): string {
  const [of, low, high] = [median, q1, q3].map((one) => Number(one.toPrecision(3)));
  return `${of} times the default (${low}–${high})`;
}
