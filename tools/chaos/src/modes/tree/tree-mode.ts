import { setTimeout as sleep } from 'node:timers/promises';
import { checkLedger, drawReport, type LedgerReport } from '@brine/ledger-check';
import { type Given, seed, whole } from '@brine/swarm/options';
import { drawChaos } from '../../draw-chaos.ts';
import { BEHAVIOURS } from '../../load.ts';
import type { Run } from '../../run.ts';
import { type ChaosReport, runChaos } from '../../run-chaos.ts';
import { installationOf } from '../../start-master.ts';
import { IMPATIENT, PREFIX, startSwarm } from '../../swarm.ts';
import { modeOf } from '../mode.ts';
import { compareLedgers, type Comparison } from './compare-ledgers.ts';
import { treePlan } from './plan.ts';
import { startTree, type Tree } from './tree.ts';
import { TreeInjector } from './tree-injector.ts';

const OPTIONS = {
  tree: whole('<n>', 'jobs that are asked for above, at least', [1, 1_000_000, 1_000]),
  faults: whole('<n>', 'drawn before the first happens', [1, 100_000, 40]),
  seed: seed('of the plan; the same seed is the same plan'),
  minions: whole('<n>', 'simulated ones, below', [20, 100_000, 50]),
  rate: whole('<n>', 'jobs per second', [1, 1_000, 4]),
  workers: whole('<n>', 'of each master', [1, 64, 1]),
};

type Asked = Given<typeof OPTIONS>;

/** Faults between two masters. */
export const tree = modeOf({
  about: 'npm run chaos -- --tree <n>    n jobs, two masters, faults between them',
  options: OPTIONS,
  run: runTree,
  draw: drawTree,
});

/** The result of a run: faults, load and ledger above; ledger below; the comparison of both. */
interface TreeReport {
  readonly above: ChaosReport;
  readonly below: LedgerReport;
  readonly both: Comparison;
  readonly ok: boolean;
}

/** Time for data that waits below to reach the master above after a fault, in ms. */
const SETTLED_TIMEOUT_MS = 120_000;
const POLL_MS = 1_000;

/** Starts two masters and minions, runs the plan, checks both ledgers. */
async function runTree(asked: Asked, run: Run): Promise<TreeReport> {
  const { faults, seed: drawnBy, workers, minions, rate, tree: leastJobs } = asked;
  const plan = treePlan(faults, drawnBy);
  await run.save('plan.json', plan);
  run.print(`seed ${drawnBy}: two masters and two relays start`);
  const tree = await startTree(run, workers);
  const swarm = await startSwarm(tree.below.home, run, {
    minions,
    // Jobs are published above.
    clientHost: '127.0.0.1',
    clientPort: tree.above.home.retPort,
    behaviours: BEHAVIOURS,
    ...IMPATIENT,
  });
  const cachedir = tree.above.home.cacheDir;
  await swarm.connect();
  const above = await runChaos({
    plan,
    installation: installationOf(tree.above.home),
    injector: new TreeInjector(tree),
    fleet: { swarm, minions, prefix: PREFIX, cachedir, below: true },
    rates: { jobs: rate, returns: 1, logIns: 0 },
    run,
    after: '',
    untilClosed: true,
    leastJobs,
    known: 'jobs',
  });
  return settled(tree, above, run.log);
}

/** Checks both ledgers; repeats while data may still be on its way up. */
async function settled(tree: Tree, above: ChaosReport, log: string): Promise<TreeReport> {
  const aboveUrl = await installationOf(tree.above.home).databaseUrl();
  const belowUrl = await installationOf(tree.below.home).databaseUrl();
  const until = Date.now() + SETTLED_TIMEOUT_MS;
  for (;;) {
    const below = await checkLedger({
      databaseUrl: belowUrl,
      logs: [log],
      known: 'nothing',
      fresh: true,
    });
    const both = await compareLedgers(aboveUrl, belowUrl);
    const same = both.differences.length === 0;
    const ok = above.ok && below.ok && same && both.neverBelow === 0;
    if ((below.ok && same) || Date.now() > until) return { above, below, both, ok };
    await sleep(POLL_MS);
  }
}

function drawTree({ above, below, both, ok }: TreeReport): string {
  const lines = [
    `jobs above: ${both.jobs}, of which ${both.neverBelow} never came below`,
    `returns to them counted below: ${both.below}, above: ${both.above}`,
    ...both.differences.map((difference) => `difference: ${difference}`),
  ];
  return (
    `above\n${drawChaos(above)}\nbelow\n${drawReport(below)}\n` +
    `${lines.join('\n')}\n${ok ? 'ok' : 'NOT OK'}\n`
  );
}
