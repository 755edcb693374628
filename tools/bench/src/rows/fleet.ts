import { setTimeout as sleep } from 'node:timers/promises';
import type { JobResult } from '@brine/swarm';
import { Fleet } from '../load/fleet.ts';
import type { MasterName, MasterUnderTest } from '../masters/master.ts';
import { namesOf, withMasters } from '../masters/start-masters.ts';
import { totalPss } from '../measure/process-tree.ts';
import { quiet } from '../measure/slice.ts';
import { type Cell, emptyCell, type Figure } from '../report/figure.ts';
import { fleetFigures, type FleetRun } from './fleet-figures.ts';
import type { Row, RowContext } from './row.ts';

/** Fleets that the table shows. */
const SIZES = [100, 1_000, 5_000, 10_000] as const;
/** Stock masters lose returns at this size already; above it they are not asked. */
const STOCK_MINIONS_MAX = 5_000;
/** What one master may take for one size; after that no further job is published to it. */
const MASTER_MS_MAX = 180_000;
/** How long the last return of a job is waited for: a stock minion has given up before. */
const JOB_WAIT_MS = 45_000;
/** After this a service without work has given back what its start left behind. */
const REST_MS = 30_000;
/** A publication that has not reached a minion by then will not. */
const PUBLISH_WAIT_MS = 3_000;
/** Rounds of one size: few minions give few samples, many take long. */
const ROUNDS: Readonly<Record<number, number>> = { 100: 10, 1_000: 10, 5_000: 5, 10_000: 5 };

/** Publish to the last minion, `test.ping` there and back, memory per connected minion. */
export const FLEET_ROWS: readonly Row[] = SIZES.map((size) => ({
  name: `fleet-${size}`,
  about: `publish and test.ping of ${size} minions, memory per connected minion`,
  inTable: true,
  run: (context) => runFleets(context, Math.min(size, context.minionsMax)),
}));

async function runFleets(context: RowContext, size: number): Promise<readonly Figure[]> {
  const { installed, say } = context;
  const names = namesOf(installed).filter((name) => name === 'brine' || size <= STOCK_MINIONS_MAX);
  const runs = new Map<MasterName, FleetRun>();
  const absent: Partial<Record<MasterName, Cell>> = {};
  for (const name of namesOf(installed)) {
    if (!names.includes(name)) absent[name] = emptyCell('not tried');
  }
  await withMasters(installed, names, async (masters) => {
    await sleep(REST_MS);
    // Memory first: it is the same whatever was published, and needs no other fleet around.
    for (const master of masters) runs.set(master.name, await begin(context, master, size));
    await rounds(context, masters, runs, size);
    for (const { fleet, master } of runs.values()) {
      say(`${size} minions: ${master.name} done`);
      await fleet.close();
    }
  });
  return fleetFigures(size, [...runs.values()], absent);
}

/** Connects the fleet of one master, and times publications without answers. */
async function begin(
  context: RowContext,
  master: MasterUnderTest,
  size: number,
): Promise<FleetRun> {
  const { say } = context;
  const rest = totalPss((await settled(master)) ?? {});
  const startedAt = performance.now();
  say(`${size} minions: logging in at ${master.name}`);
  const silent = await Fleet.start(master, {
    minions: size,
    behaviours: [{ share: 1, answer: 'never' }],
    say,
  });
  const publishes: JobResult[] = [];
  try {
    await silent.connect();
    for (let round = 0; round < (ROUNDS[size] ?? 5); round += 1) {
      publishes.push(await silent.publish(PUBLISH_WAIT_MS));
    }
  } finally {
    await silent.close();
  }
  const fleet = await Fleet.start(master, { minions: size, say });
  const logIns = await fleet.connect();
  const connected = totalPss((await settled(master)) ?? {});
  return {
    master,
    fleet,
    logIns,
    publishes,
    pings: [],
    kibPerMinion: (connected - rest) / size,
    spentMs: performance.now() - startedAt,
  };
}

/** Ends the fleet of a master that gets no further job. */
async function giveUp(run: FleetRun, why: string, say: RowContext['say']): Promise<void> {
  say(`${run.fleet.minions} minions: ${run.master.name} gives up: ${why}`);
  run.spentMs = Number.POSITIVE_INFINITY;
  await run.fleet.close();
}

async function settled(master: MasterUnderTest) {
  await quiet(master.tree);
  return master.tree.sizes();
}

/** Jobs in turn, until each master has had its rounds or its time. */
async function rounds(
  { say }: RowContext,
  masters: readonly MasterUnderTest[],
  runs: ReadonlyMap<MasterName, FleetRun>,
  size: number,
): Promise<void> {
  const count = ROUNDS[size] ?? 5;
  for (let round = 0; round < count; round += 1) {
    for (const { name } of round % 2 === 0 ? masters : [...masters].reverse()) {
      const run = runs.get(name);
      if (run === undefined || run.spentMs > MASTER_MS_MAX) continue;
      say(`test.ping of ${size}: ${name}, ${round + 1} of ${count}`);
      const startedAt = performance.now();
      try {
        const ping = await run.fleet.publish(JOB_WAIT_MS);
        run.pings.push(ping);
        // Its minions send again for a minute, which would be load for the next master's job.
        const isWhole = ping.acknowledged >= size;
        if (name !== 'brine' && !isWhole) await giveUp(run, 'returns are lost', say);
      } catch (error) {
        // A stock master may take more than a minute for the reply: seen with 5,000 minions.
        if (name === 'brine') throw error;
        await giveUp(run, error instanceof Error ? error.message : '', say);
      }
      await quiet(run.master.tree);
      run.spentMs += performance.now() - startedAt;
    }
  }
}
