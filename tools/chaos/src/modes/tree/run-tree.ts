import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkLedger, type LedgerReport } from '@brine/ledger-check';
import { Swarm } from '@brine/swarm';
import { BEHAVIOURS } from '../../load.ts';
import { type ChaosReport, runChaos } from '../../run-chaos.ts';
import type { TreeArguments } from './arguments.ts';
import { compareLedgers, type Comparison } from './compare-ledgers.ts';
import { treePlan } from './plan.ts';
import { installationOf, startTree, type Tree } from './tree.ts';
import { TreeInjector } from './tree-injector.ts';

/** What a run needs. */
export interface TreeOptions extends Omit<TreeArguments, 'json'> {
  readonly tell: (line: string) => void;
  /** The run ends early, in order, once this is aborted. */
  readonly signal: AbortSignal;
}

/** How a run went: faults, load and the books above; the books below; both held together. */
export interface TreeReport {
  readonly above: ChaosReport;
  readonly below: LedgerReport;
  readonly both: Comparison;
  readonly ok: boolean;
}

const PREFIX = 'tree-';
/** As in the runs on one master: what minions wait must not hide what masters do. */
const RECONNECT_MS = [100, 500] as const;
const RETURN_TIMEOUT_MS = [3_000, 6_000] as const;
/** What waits below while the master above is away has so long to get there, in ms. */
const SETTLED_TIMEOUT_MS = 120_000;
const POLL_MS = 1_000;

/** Starts two masters and minions, does the plan, checks both ledgers, and ends everything. */
export async function runTree(options: TreeOptions): Promise<TreeReport> {
  const { faults, seed, workers, keep, tell } = options;
  const dir = await mkdtemp(join(tmpdir(), 'brine-tree-'));
  const plan = treePlan(faults, seed);
  await writeFile(join(dir, 'plan.json'), `${JSON.stringify(plan, null, 2)}\n`);
  tell(`seed ${seed}: two masters and two relays start`);
  const tree = await startTree(workers);
  let report: TreeReport | undefined;
  try {
    report = await runOn(tree, plan, join(dir, 'ledger.jsonl'), options);
    await writeFile(join(dir, 'report.json'), `${JSON.stringify(report, null, 2)}\n`);
    return report;
  } finally {
    const isKept = keep || report?.ok !== true;
    const kept = await tree.close(isKept);
    if (isKept) tell(`kept: ${[dir, ...kept].join(', ')} (plan, log, report; the masters)`);
    else await rm(dir, { recursive: true });
  }
}

async function runOn(
  tree: Tree,
  plan: ReturnType<typeof treePlan>,
  log: string,
  { minions, jobs, rate, tell, signal }: TreeOptions,
): Promise<TreeReport> {
  const swarm = await Swarm.start({
    retPort: tree.below.home.retPort,
    pkiDir: tree.below.home.pkiDir,
    // Jobs are asked for above.
    clientHost: '127.0.0.1',
    clientPort: tree.above.home.retPort,
    minions,
    idPrefix: PREFIX,
    keyPairs: 16,
    behaviours: BEHAVIOURS,
    reconnectMs: RECONNECT_MS,
    returnTimeoutMs: RETURN_TIMEOUT_MS,
    log,
    onProgress: tell,
  });
  const injector = new TreeInjector(tree);
  const cachedir = tree.above.home.cacheDir;
  try {
    await swarm.connect();
    const above = await runChaos({
      plan,
      installation: installationOf(tree.above),
      injector,
      fleet: { swarm, minions, prefix: PREFIX, cachedir, below: true },
      rates: { jobs: rate, returns: 1, logIns: 0 },
      log,
      endFleet: () => swarm.close(),
      after: '',
      untilClosed: true,
      leastJobs: jobs,
      told: 'jobs',
      tell,
      signal,
    });
    return await settled(tree, above, log);
  } finally {
    await injector.mendAll();
    await swarm.close();
  }
}

/** The books of both; again while something may still be on its way up. */
async function settled(tree: Tree, above: ChaosReport, log: string): Promise<TreeReport> {
  const aboveUrl = await installationOf(tree.above).databaseUrl();
  const belowUrl = await installationOf(tree.below).databaseUrl();
  const until = Date.now() + SETTLED_TIMEOUT_MS;
  for (;;) {
    const below = await checkLedger({
      databaseUrl: belowUrl,
      logs: [log],
      told: 'nothing',
      fresh: true,
    });
    const both = await compareLedgers(aboveUrl, belowUrl);
    const same = both.differences.length === 0;
    const ok = above.ok && below.ok && same && both.neverBelow === 0;
    if ((below.ok && same) || Date.now() > until) return { above, below, both, ok };
    await sleep(POLL_MS);
  }
}
