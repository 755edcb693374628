import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Swarm } from '@brine/swarm';
import { Injector } from '../inject.ts';
import { BEHAVIOURS } from '../load.ts';
import { type OwnMaster, startOwnMaster } from '../own-master.ts';
import { DISKS, type FaultKind, LINKS, makePlan, type Plan, WIRES } from '../plan.ts';
import { type ChaosReport, runChaos } from '../run-chaos.ts';

/** What a run on a master of its own needs. */
export interface OwnRunOptions {
  readonly faults: number;
  readonly seed: number;
  readonly minions: number;
  readonly kinds: readonly FaultKind[];
  readonly jobs: number;
  readonly workers: number;
  /** Instead of a drawn one. */
  readonly plan?: Plan;
  /** Keep the directories also where nothing failed. */
  readonly keep: boolean;
  readonly tell: (line: string) => void;
  readonly signal: AbortSignal;
}

/** A report, and where the files of the run are, if they were kept. */
export interface OwnRun {
  readonly report: ChaosReport;
  readonly kept: { readonly run: string; readonly master: string } | undefined;
}

const PREFIX = 'chaos-';
/** A minion's own waits must not hide the master's recovery; a stock one waits 1 to 11 s. */
const RECONNECT_MS = [100, 500] as const;
/** Nor that a connection which was reset while packets were lost is found dead; stock: 300 s. */
const KEEP_ALIVE_MS = 1_000;
/** As above: 5 to 10 s. */
const RETURN_TIMEOUT_MS = [3_000, 6_000] as const;
const KEY_PAIRS = 16;

/** Starts a master and minions, does the plan, checks, and ends everything. */
export async function runOnOwnMaster(options: OwnRunOptions): Promise<OwnRun> {
  const dir = await mkdtemp(join(tmpdir(), 'brine-chaos-'));
  const log = join(dir, 'ledger.jsonl');
  options.tell(`seed ${options.seed}: a master starts`);
  const own = await startOwnMaster(options.workers, kindsOf(options));
  let report: ChaosReport | undefined;
  try {
    const plan = options.plan ?? drawPlan(options, own);
    await writeFile(join(dir, 'plan.json'), `${JSON.stringify(plan, null, 2)}\n`);
    report = await runOn(own, plan, log, options);
    await writeFile(join(dir, 'report.json'), `${JSON.stringify(report, null, 2)}\n`);
  } finally {
    const keep = options.keep || report?.ok !== true;
    const master = await own.close(keep);
    if (!keep) await rm(dir, { recursive: true });
    else options.tell(`kept: ${dir} (plan, log, report), ${master ?? ''} (the master)`);
  }
  const kept =
    options.keep || !report.ok ? { run: dir, master: own.master.sandbox.dir } : undefined;
  return { report, kept };
}

/** Of a plan that is done again those that are in it. */
function kindsOf({ plan, kinds }: OwnRunOptions): readonly FaultKind[] {
  return plan === undefined ? kinds : plan.steps.map(({ fault }) => fault.kind);
}

function drawPlan({ faults, seed, kinds, tell }: OwnRunOptions, own: OwnMaster): Plan {
  const { installation, tools } = own;
  const disks = DISKS.filter((disk) => tools.disks[disk] !== undefined);
  const wires = tools.wires === undefined ? [] : WIRES;
  if (kinds.includes('full') && disks.length === 0) tell('left out: full (may not mount)');
  if (kinds.includes('partition') && wires.length === 0) {
    tell('left out: partition (may not make a network namespace)');
  }
  const victims = installation.victims();
  return makePlan(faults, seed, { kinds, victims, links: LINKS, disks, wires });
}

async function runOn(
  { installation, tools, entries, master }: OwnMaster,
  plan: Plan,
  log: string,
  { minions, jobs, tell, signal }: OwnRunOptions,
): Promise<ChaosReport> {
  const { pkiDir, cacheDir: cachedir, retPort } = master.home;
  const swarm = await Swarm.start({
    host: entries.request.host,
    retPort: entries.request.port,
    publishPort: entries.publish.port,
    // The client's own connection stays whole: what it was answered must be true.
    clientHost: '127.0.0.1',
    clientPort: retPort,
    minions,
    idPrefix: PREFIX,
    keyPairs: KEY_PAIRS,
    pkiDir,
    behaviours: BEHAVIOURS,
    reconnectMs: RECONNECT_MS,
    keepAliveMs: KEEP_ALIVE_MS,
    returnTimeoutMs: RETURN_TIMEOUT_MS,
    log,
    onProgress: tell,
  });
  const injector = new Injector(installation, tools);
  try {
    await swarm.connect();
    return await runChaos({
      plan,
      installation,
      injector,
      fleet: { swarm, minions, prefix: PREFIX, cachedir },
      rates: { jobs, returns: 3, logIns: 1 },
      log,
      endFleet: () => swarm.close(),
      after: '',
      untilClosed: true,
      tell,
      signal,
    });
  } finally {
    await injector.mendAll();
    await swarm.close();
  }
}
