import { loadMasterConfig } from '@brine/config';
import type { LedgerReport } from '@brine/ledger-check';
import { type Given, whole } from '@brine/swarm/options';
import { sleepUnless } from '@brine/tasks';
import type { NatsCluster, PostgresPair } from '@brine/testing/nodes';
import { startNatsCluster, startPostgresPair } from '@brine/testing/nodes';
import { drawEnd, drawLoad } from '../draw-chaos.ts';
import { Installation } from '../installation.ts';
import { type Fleet, Load, type LoadCounts } from '../load.ts';
import { type Recovery, StoredProbes, untilRecovered } from '../recovery.ts';
import type { Run } from '../run.ts';
import { checkAtRest, comeToRest } from '../run-chaos.ts';
import { startMaster } from '../start-master.ts';
import { IMPATIENT, PREFIX, startSwarm } from '../swarm.ts';
import { modeOf } from './mode.ts';

const OPTIONS = {
  nodes: whole('<n>', 'how often each node is lost', [1, 1_000, 1]),
  minions: whole('<n>', 'simulated ones', [20, 100_000, 200]),
  jobs: whole('<n>', 'per second; one in ten is for all minions', [1, 1_000, 5]),
  workers: whole('<n>', 'of the master', [1, 64, 2]),
  away: whole('<s>', 'a node of NATS stays away so long', [0, 3_600, 5]),
};

type Asked = Given<typeof OPTIONS>;

/** Each node of NATS and PostgreSQL is lost, under load. */
export const nodes = modeOf({
  about: `npm run chaos -- --nodes <n>    each node is lost n times, under load

Three NATS servers with R3 streams, a PostgreSQL primary with a synchronous standby, a master.`,
  options: OPTIONS,
  run: runNodes,
  draw: drawNodes,
});

/** A node that was lost; recovery is measured while it is down. */
interface Loss {
  readonly node: string;
  /** Missing if the master served nothing for too long. */
  readonly recovery?: Recovery;
}

/** The result of a run. */
interface NodesReport {
  readonly losses: readonly Loss[];
  readonly load: LoadCounts;
  /** Failures beside those of the ledger. */
  readonly failures: readonly string[];
  readonly ledger?: LedgerReport;
  readonly ok: boolean;
}

/** Deadline of jobs, in s: short, so that a check after the drain sees their final state. */
const JOB_DEADLINE_S = 20;
const JOBS_FOR_ALL = 10;
const RECOVERY_TIMEOUT_MS = 120_000;
const STREAM_BYTES = 1_073_741_824;

/** A master on an external cluster of NATS and PostgreSQL, whose primary changes after a switch. */
class ClusteredInstallation extends Installation {
  readonly #pair: PostgresPair;

  constructor(configDir: string, pair: PostgresPair) {
    super(loadMasterConfig({ configDir, env: {} }).options);
    this.#pair = pair;
  }

  override databaseUrl(): Promise<string> {
    return Promise.resolve(this.#pair.primaryUrl());
  }
}

/** Starts all nodes, a master and minions, loses each node under load, checks. */
async function runNodes(asked: Asked, run: Run): Promise<NodesReport> {
  run.print('three NATS servers, a primary with its standby, and a master start');
  const nats = await startNatsCluster();
  run.onEnd(async () => nats[Symbol.asyncDispose]());
  const pair = await startPostgresPair();
  run.onEnd(async () => pair[Symbol.asyncDispose]());
  const { minions, jobs, workers } = asked;
  const { home } = await startOn(run, nats, pair, workers);
  const installation = new ClusteredInstallation(home.configDir, pair);
  const swarm = await startSwarm(home, run, { minions, ...IMPATIENT });
  const fleet: Fleet = { swarm, minions, prefix: PREFIX, cachedir: home.cacheDir };
  const losses: Loss[] = [];
  const failures: string[] = [];
  await swarm.connect();
  await recovered(fleet, pair);
  const load = new Load(fleet, { jobs, returns: 0, logIns: 0, allEvery: JOBS_FOR_ALL });
  try {
    await loseAll({ nats, pair, fleet, losses }, asked, run);
  } catch (error) {
    failures.push((error as Error).message);
  }
  run.print('drain');
  await load.stop();
  const stored = new StoredProbes(async () => pair.primaryUrl());
  failures.push(...(await comeToRest({ installation, fleet, untilClosed: true }, stored)));
  await stored.close();
  await swarm.close();
  const ledger = await checkAtRest({ installation, run, after: '' });
  const ok = failures.length === 0 && ledger.ok;
  return { losses, load: load.counts, failures, ledger, ok };
}

function startOn(run: Run, nats: NatsCluster, pair: PostgresPair, workers: number) {
  const brine = {
    workers,
    job_deadline: JOB_DEADLINE_S,
    stream_replicas: 3,
    stream_bytes: STREAM_BYTES,
  };
  const env = {
    NATS_URL: nats.url,
    BRINE_NATS_CERTIFICATES: nats.certificates,
    DATABASE_URL: pair.url,
  };
  return startMaster(run, { brine }, { logLevel: 'warning', env });
}

interface Losing {
  readonly nats: NatsCluster;
  readonly pair: PostgresPair;
  readonly fleet: Fleet;
  readonly losses: Loss[];
}

async function loseAll(
  { nats, pair, fleet, losses }: Losing,
  { nodes: rounds, away: awayS }: Asked,
  { print, signal }: Run,
): Promise<void> {
  const lose = async (node: string, away: () => Promise<void>, back: () => Promise<void>) => {
    if (signal.aborted) return;
    print(`${String(losses.length + 1).padStart(4)}  ${node} is killed`);
    const at = losses.push({ node }) - 1;
    await away();
    const recovery = await recovered(fleet, pair);
    losses[at] = { node, recovery };
    const { servedMs, storedMs } = recovery;
    print(`      served after ${servedMs.toFixed(0)} ms, stored after ${storedMs.toFixed(0)} ms`);
    await sleepUnless(awayS * 1_000, signal);
    const since = performance.now();
    await back();
    print(`      as before after ${(performance.now() - since).toFixed(0)} ms`);
    // Wait, so that the next loss does not come while this node still catches up.
    await sleepUnless(awayS * 1_000, signal);
    await recovered(fleet, pair);
  };
  for (let round = 0; round < rounds; round += 1) {
    for (const node of nats.nodes) {
      await lose(
        node.name,
        () => node.kill(),
        () => node.start(),
      );
    }
    await lose(
      'the primary of PostgreSQL',
      () => pair.failOver(),
      () => pair.standByAgain(),
    );
  }
}

async function recovered(fleet: Fleet, pair: PostgresPair): Promise<Recovery> {
  const stored = new StoredProbes(async () => pair.primaryUrl());
  try {
    return await untilRecovered(fleet, stored, RECOVERY_TIMEOUT_MS);
  } finally {
    await stored.close();
  }
}

function drawNodes({ losses, load, failures, ledger, ok }: NodesReport): string {
  const ms = (value: number | undefined): string => (value === undefined ? '-' : value.toFixed(0));
  const lines = [
    `${losses.length} nodes lost; ms until the first complete job, and until it was stored:`,
    ...losses.map(({ node, recovery }) => {
      return `  ${node}: ${ms(recovery?.servedMs)}, ${ms(recovery?.storedMs)}`;
    }),
    drawLoad(load),
    ...failures.map((failure) => `failure: ${failure}`),
  ];
  return `${lines.join('\n')}${drawEnd(ledger, ok)}`;
}
