import { Releasers } from '@brine/service';
import type { LoadResult } from '@brine/swarm';
import { Fleet } from '../load/fleet.ts';
import type { MasterUnderTest } from '../masters/master.ts';
import { startMaster } from '../masters/start-masters.ts';
import { memorySummary, watchMemory } from '../measure/watch.ts';
import { cellOf, type Figure, figureOf } from '../report/figure.ts';
import type { Row, RowContext } from './row.ts';

/** Each has one request on its way at most, as stock minions have. */
const MINIONS = 5_000;
const LOG_IN_MINIONS = 500;
const PROBES = 20;
const PEAK_SECONDS = 5;
const OVERLOAD_SECONDS = 20;
/** Of the offered load; the rest are log-ins. Publishes are few and come on top. */
const RETURN_SHARE = 0.8;
const FACTOR = 3;
/** So many that no minion answers one twice: 20,000 and 50,000 returns/s with all minions. */
const PEAK_JOBS = 20;
const STORM_JOBS = 200;
const PUBLISHES_PER_SECOND = 2;
const PEAK_IN_FLIGHT = 256;
/** Open loop: those that wait for an answer. Minions of a real fleet have one each. */
const OPEN_IN_FLIGHT = 20_000;
const RECOVERY_MS_MAX = 60_000;
/** A probe is served as before when it takes at most this many times as long, or 1 s. */
const RECOVERED_FACTOR = 2;
const RECOVERED_MS = 1_000;

/** Three times what Brine can take, by class; memory of the services; how soon it recovers. */
export const OVERLOAD_ROW: Row = {
  name: 'overload',
  about: `${FACTOR}× the peak load for ${OVERLOAD_SECONDS} s: goodput, classes, memory, recovery`,
  inTable: false,
  run: runOverload,
};

interface Fleets {
  readonly returns: Fleet;
  readonly logIns: Fleet;
  readonly probe: Fleet;
}

async function runOverload(context: RowContext): Promise<readonly Figure[]> {
  const { installed, say } = context;
  await using releasers = new Releasers();
  const master = await startMaster(installed, 'brine');
  releasers.add(() => master.close());
  const fleets = await openFleets(master, releasers, context);
  say('overload: finding the peak');
  const peak = await peakOf(fleets);
  const idleMs = (await fleets.probe.publish(RECOVERY_MS_MAX)).lastAckMs;
  say(
    `overload: ${FACTOR} × ${peak.returns.toFixed(0)} returns/s ` +
      `or ${peak.logIns.toFixed(0)} log-ins/s`,
  );
  const memory = watchMemory(master.tree);
  const storm = await overload(fleets, peak);
  const recoveryMs = await recovery(fleets.probe, idleMs);
  const samples = await memory.end();
  return figuresOf({ peak, storm, recoveryMs, memory: memorySummary(samples), samples });
}

async function openFleets(
  master: MasterUnderTest,
  releasers: Releasers,
  { say, minionsMax }: RowContext,
): Promise<Fleets> {
  const open = async (prefix: string, minions: number, silent: boolean): Promise<Fleet> => {
    const behaviours = silent ? ([{ share: 1, answer: 'never' }] as const) : [];
    const fleet = await Fleet.start(master, { minions, prefix, behaviours, say });
    releasers.add(() => fleet.close());
    await fleet.connect();
    return fleet;
  };
  const returns = await open('over-', Math.min(MINIONS, minionsMax), true);
  const logIns = await open('auth-', Math.min(LOG_IN_MINIONS, minionsMax), true);
  const probe = await open('probe-', PROBES, false);
  return { returns, logIns, probe };
}

/** The most of each class alone, with as many in flight as keep the master busy. */
async function peakOf({ returns, logIns }: Fleets): Promise<{ returns: number; logIns: number }> {
  const load = { inFlight: PEAK_IN_FLIGHT, durationMs: PEAK_SECONDS * 1_000 };
  const warm = await returns.swarm.returns({ ...load, jids: await returns.jobs(PEAK_JOBS) });
  const peak = await returns.swarm.returns({ ...load, jids: await returns.jobs(PEAK_JOBS) });
  const { perSecond } = await logIns.logIns(load);
  return { returns: Math.max(warm.perSecond, peak.perSecond), logIns: perSecond };
}

interface Storm {
  readonly returns: LoadResult;
  readonly logIns: LoadResult;
  readonly publishes: LoadResult;
}

async function overload(fleets: Fleets, peak: { returns: number; logIns: number }): Promise<Storm> {
  const jids = await fleets.returns.jobs(STORM_JOBS);
  const base = { inFlight: OPEN_IN_FLIGHT, durationMs: OVERLOAD_SECONDS * 1_000 };
  const [returns, logIns, publishes] = await Promise.all([
    fleets.returns.swarm.returns({
      ...base,
      jids,
      ratePerSecond: peak.returns * FACTOR * RETURN_SHARE,
    }),
    fleets.logIns.logIns({
      ...base,
      ratePerSecond: peak.logIns * FACTOR * (1 - RETURN_SHARE),
    }),
    fleets.probe.publishes({ ...base, ratePerSecond: PUBLISHES_PER_SECOND }),
  ]);
  return { returns, logIns, publishes };
}

/** Time until a small job is complete about as fast as before; NaN where that takes too long. */
async function recovery(probe: Fleet, idleMs: number): Promise<number> {
  const startedAt = performance.now();
  const good = Math.max(idleMs * RECOVERED_FACTOR, RECOVERED_MS);
  while (performance.now() - startedAt < RECOVERY_MS_MAX) {
    const job = await probe.publish(good);
    if (job.acknowledged === PROBES && job.lastAckMs <= good) return performance.now() - startedAt;
  }
  return Number.NaN;
}

function figuresOf(seen: {
  readonly peak: { readonly returns: number; readonly logIns: number };
  readonly storm: Storm;
  readonly recoveryMs: number;
  readonly memory: Readonly<Record<string, { first: number; most: number; last: number }>>;
  readonly samples: unknown;
}): readonly Figure[] {
  const { peak, storm, recoveryMs, memory, samples } = seen;
  // Each class in units of its own peak: a log-in costs many times what a return does.
  const goodput = rateOf(storm.returns) / peak.returns + rateOf(storm.logIns) / peak.logIns;
  const row = 'overload';
  const line = (
    name: string,
    unit: Figure['unit'],
    value: number,
    more: Parameters<typeof cellOf>[1] = {},
  ): Figure =>
    figureOf({
      row,
      name,
      unit,
      better: unit === '%' || unit === '1/s' ? 'more' : 'less',
      cells: { brine: cellOf([value], more) },
    });
  const outcome = (result: LoadResult): Parameters<typeof cellOf>[1] => ({
    note:
      `${result.refused} refused, ${result.timedOut} lost, ${result.resent} re-sent, ` +
      `${result.unsent} not begun, p99 ${(result.p99Ms / 1_000).toFixed(1)} s`,
    rigBound: result.bottleneck !== undefined,
    detail: { result },
  });
  return [
    line('peak returns/s', '1/s', peak.returns),
    line('peak log-ins/s', '1/s', peak.logIns),
    line(`goodput at ${FACTOR}× of the peak`, '%', goodput * 100),
    line('returns/s answered', '1/s', rateOf(storm.returns), outcome(storm.returns)),
    line('log-ins/s answered', '1/s', rateOf(storm.logIns), outcome(storm.logIns)),
    line('publishes/s answered', '1/s', rateOf(storm.publishes), outcome(storm.publishes)),
    line('recovery', 's', recoveryMs / 1_000),
    ...Object.entries(memory).map(([name, { first, most, last }]) =>
      line(`memory of ${name}: most`, 'MiB', most, {
        note: `${first} before, ${last} after`,
        detail: { samples },
      }),
    ),
  ];
}

/** Answers per second of the storm itself, whenever the last one came. */
function rateOf({ answered, seconds }: LoadResult): number {
  return answered / Math.max(seconds, OVERLOAD_SECONDS);
}
