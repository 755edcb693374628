import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadMasterConfig } from '@brine/config';
import type { LedgerReport } from '@brine/ledger-check';
import { Swarm } from '@brine/swarm';
import { BrineMaster } from '@brine/testing';
import type { NatsCluster, PostgresPair } from '@brine/testing/nodes';
import { startNatsCluster, startPostgresPair } from '@brine/testing/nodes';
import { Installation } from '../installation.ts';
import { type Fleet, Load, type LoadCounts } from '../load.ts';
import { type Recovery, StoredProbes, untilRecovered } from '../recovery.ts';
import { checkAtRest, comeToRest } from '../run-chaos.ts';
import type { NodesArguments } from './nodes-arguments.ts';

/** What a run needs. */
export interface NodesOptions extends Omit<NodesArguments, 'json'> {
  readonly tell: (line: string) => void;
  /** The run ends early, in order, once this is aborted. */
  readonly signal: AbortSignal;
}

/** A node that was lost; its recovery is measured while it is away. */
export interface Loss {
  readonly node: string;
  /** Missing where the master served nothing for too long. */
  readonly recovery?: Recovery;
}

/** How a run went. */
export interface NodesReport {
  readonly losses: readonly Loss[];
  readonly load: LoadCounts;
  /** What went wrong beside the books, in words. */
  readonly failures: readonly string[];
  readonly ledger?: LedgerReport;
  readonly ok: boolean;
}

const PREFIX = 'chaos-';
/** As in the other runs: a minion's own waits must not hide the master's recovery. */
const RECONNECT_MS = [100, 500] as const;
const RETURN_TIMEOUT_MS = [3_000, 6_000] as const;
/** Jobs are closed so soon, in s: a check after the drain sees them in their last state. */
const JOB_DEADLINE_S = 20;
const JOBS_FOR_ALL = 10;
const RECOVERY_TIMEOUT_MS = 120_000;
const STREAM_BYTES = 1_073_741_824;

/** A master on other people's NATS and PostgreSQL, whose primary is another one after a switch. */
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
export async function runNodes(options: NodesOptions): Promise<NodesReport> {
  const { tell, workers } = options;
  const dir = await mkdtemp(join(tmpdir(), 'brine-nodes-'));
  const log = join(dir, 'ledger.jsonl');
  tell('three NATS servers, a primary with its standby, and a master start');
  await using nats = await startNatsCluster();
  await using pair = await startPostgresPair();
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
  const master = await BrineMaster.start({ brine }, { logLevel: 'warning', env });
  let report: NodesReport | undefined;
  try {
    report = await runOn({ master, nats, pair, log }, options);
    return report;
  } finally {
    const keep = options.keep || report?.ok !== true;
    if (keep) tell(`kept: ${dir} (log of the rig), ${master.sandbox.keepLogs()} (the master)`);
    await master.close();
    if (!keep) await rm(dir, { recursive: true });
  }
}

interface Site {
  readonly master: BrineMaster;
  readonly nats: NatsCluster;
  readonly pair: PostgresPair;
  /** The log of the rig. */
  readonly log: string;
}

async function runOn(site: Site, options: NodesOptions): Promise<NodesReport> {
  const { master, pair, log } = site;
  const { minions, jobs, tell } = options;
  const { pkiDir, cacheDir: cachedir, retPort, configDir } = master.home;
  const installation = new ClusteredInstallation(configDir, pair);
  const swarm = await Swarm.start({
    ...{ retPort, minions, idPrefix: PREFIX, keyPairs: 16, pkiDir, log, onProgress: tell },
    reconnectMs: RECONNECT_MS,
    returnTimeoutMs: RETURN_TIMEOUT_MS,
  });
  const fleet: Fleet = { swarm, minions, prefix: PREFIX, cachedir };
  const losses: Loss[] = [];
  const failures: string[] = [];
  try {
    await swarm.connect();
    await recovered(fleet, pair);
    const load = new Load(fleet, { jobs, returns: 0, logIns: 0, allEvery: JOBS_FOR_ALL });
    try {
      await loseAll(site, fleet, options, losses);
    } catch (error) {
      failures.push((error as Error).message);
    }
    tell('drain');
    await load.stop();
    const stored = new StoredProbes(async () => pair.primaryUrl());
    const resting = { installation, fleet, untilClosed: true };
    failures.push(...(await comeToRest(resting, stored)));
    await stored.close();
    await swarm.close();
    const ledger = await checkAtRest({ installation, log, after: '' });
    const ok = failures.length === 0 && ledger.ok;
    return { losses, load: load.counts, failures, ledger, ok };
  } finally {
    await swarm.close();
  }
}

async function loseAll(
  { nats, pair }: Site,
  fleet: Fleet,
  { rounds, awayS, tell, signal }: NodesOptions,
  losses: Loss[],
): Promise<void> {
  const lose = async (node: string, away: () => Promise<void>, back: () => Promise<void>) => {
    if (signal.aborted) return;
    tell(`${String(losses.length + 1).padStart(4)}  ${node} is killed`);
    const at = losses.push({ node }) - 1;
    await away();
    const recovery = await recovered(fleet, pair);
    losses[at] = { node, recovery };
    const { servedMs, storedMs } = recovery;
    tell(`      served after ${servedMs.toFixed(0)} ms, stored after ${storedMs.toFixed(0)} ms`);
    await sleep(awayS * 1_000, undefined, { signal }).catch(() => undefined);
    const since = performance.now();
    await back();
    tell(`      as before after ${(performance.now() - since).toFixed(0)} ms`);
    // The next loss would be a second one while this one still catches up.
    await sleep(awayS * 1_000, undefined, { signal }).catch(() => undefined);
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
