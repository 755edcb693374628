import { setTimeout as sleep } from 'node:timers/promises';
import { checkLedger, type CheckOptions, type LedgerReport } from '@brine/ledger-check';
import type { Injector } from './inject.ts';
import type { Installation } from './installation.ts';
import { type Fleet, Load, type LoadCounts, type LoadRates } from './load.ts';
import { nameOf, type Plan, type Step } from './plan.ts';
import { type Recovery, type RecoverySpread, spreadOf } from './recovery.ts';
import { StoredProbes, untilRecovered } from './recovery.ts';
import type { Run } from './run.ts';

/** An injected fault, and the recovery of the master. */
export interface DoneFault {
  readonly number: number;
  readonly what: string;
  /** Unix ms. */
  readonly at: number;
  /** Missing if the next fault came during it, or the master never recovered. */
  readonly recovery?: Recovery;
}

/** The result of a run. */
export interface ChaosReport {
  readonly seed: number;
  readonly faults: readonly DoneFault[];
  readonly load: LoadCounts;
  /** Failures beside those of the ledger. */
  readonly failures: readonly string[];
  /** Times of recoveries; missing if there was none. */
  readonly recovery: Readonly<Record<'served' | 'stored', RecoverySpread | undefined>>;
  /** Missing if the database could not be read at the end. */
  readonly ledger?: LedgerReport;
  readonly ok: boolean;
}

/** Inputs of a run. */
export interface ChaosOptions {
  readonly plan: Plan;
  readonly installation: Installation;
  readonly injector: Pick<Injector, 'perform' | 'mendAll'>;
  readonly fleet: Fleet;
  readonly rates: LoadRates;
  readonly run: Run;
  /** The check ignores jobs up to this jid; '' for the run's own database. */
  readonly after: string;
  /** Waits for the deadlines of all jobs before the ledger is checked. */
  readonly untilClosed: boolean;
  /** Least number of jobs: the load continues after the last fault until then; default 0. */
  readonly leastJobs?: number;
  /** Facts that the client knows about the jobs; default `all`. */
  readonly known?: CheckOptions['known'];
}

/** Timeout of a recovery, ms. */
const RECOVERY_TIMEOUT_MS = 90_000;
const READY_TIMEOUT_MS = 90_000;
/** Silence after which minions are at rest, ms: longer than their pause between two sends. */
const QUIET_MS = 6_500;
const QUIET_TIMEOUT_MS = 60_000;
/** Timeout for storing the last acknowledged data, ms. */
const STORED_TIMEOUT_MS = 60_000;
const POLL_MS = 250;

/** Runs a plan under load, waits until the master is at rest, and checks the ledger. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { plan, installation, injector, fleet, run } = options;
  const { print, signal } = run;
  run.onEnd(() => injector.mendAll());
  const stored = new StoredProbes(() => installation.databaseUrl());
  const faults: DoneFault[] = [];
  const failures: string[] = [];
  const load = new Load(fleet, options.rates);
  try {
    await untilRecovered(fleet, stored, RECOVERY_TIMEOUT_MS);
    for (const group of groupsOf(plan.steps)) {
      if (signal.aborted) break;
      await sleep(group[0]?.pauseMs ?? 0);
      await doGroup(group, { ...options, faults, stored });
    }
    const { leastJobs = 0 } = options;
    while (load.counts.jobs < leastJobs && !signal.aborted) await sleep(POLL_MS);
  } catch (error) {
    failures.push((error as Error).message);
  }
  await injector.mendAll();
  print('drain');
  await load.stop();
  failures.push(...(await comeToRest(options, stored)));
  // Then its log is complete.
  await fleet.swarm.close();
  await stored.close();
  const times = faults.flatMap(({ recovery = [] }) => recovery);
  const recovery = {
    served: spreadOf(times.map(({ servedMs }) => servedMs)),
    stored: spreadOf(times.map(({ storedMs }) => storedMs)),
  };
  const report = { seed: plan.seed, faults, load: load.counts, failures, recovery };
  try {
    const ledger = await checkAtRest(options);
    return { ...report, ledger, ok: failures.length === 0 && ledger.ok };
  } catch (error) {
    failures.push(`the books can not be checked: ${(error as Error).message}`);
    return { ...report, ok: false };
  }
}

interface Doing extends ChaosOptions {
  readonly faults: DoneFault[];
  readonly stored: StoredProbes;
}

/** Injects overlapping faults; the recovery is measured from the last. */
async function doGroup(group: readonly Step[], doing: Doing): Promise<void> {
  const { faults, injector, fleet, stored } = doing;
  const { print } = doing.run;
  const first = faults.length + 1;
  const running = group.map(async ({ fault, pauseMs }, index) => {
    // Within a group the pause is from the start of the first.
    if (index > 0) await sleep(pauseMs);
    const number = first + index;
    print(`${String(number).padStart(4)}  ${nameOf(fault)}${index > 0 ? ' (meanwhile)' : ''}`);
    faults.push({ number, what: nameOf(fault), at: Date.now() });
    await injector.perform(fault);
  });
  await Promise.all(running);
  const recovery = await untilRecovered(fleet, stored, RECOVERY_TIMEOUT_MS);
  const last = faults.at(-1);
  if (last !== undefined) faults[faults.length - 1] = { ...last, recovery };
  const { servedMs, storedMs } = recovery;
  print(`      served after ${servedMs.toFixed(0)} ms, stored after ${storedMs.toFixed(0)} ms`);
}

function groupsOf(steps: readonly Step[]): Step[][] {
  const groups: Step[][] = [];
  for (const step of steps) {
    const last = groups.at(-1);
    if (step.together && last !== undefined) last.push(step);
    else groups.push([step]);
  }
  return groups;
}

/** Waits until all services serve and minions send nothing more. Returns the failures. */
export async function comeToRest(
  options: Pick<ChaosOptions, 'installation' | 'fleet' | 'untilClosed'>,
  stored: StoredProbes,
): Promise<string[]> {
  const { installation, fleet, untilClosed } = options;
  const failures: string[] = [];
  const within = async (
    timeoutMs: number,
    isDone: () => Promise<boolean>,
    what: () => string,
  ): Promise<void> => {
    const until = Date.now() + timeoutMs;
    while (!(await isDone())) {
      if (Date.now() > until) return void failures.push(what());
      await sleep(POLL_MS);
    }
  };
  await within(
    READY_TIMEOUT_MS,
    async () => installation.ready(),
    () => `not ready: ${JSON.stringify(installation.services())}`,
  );
  let sent = -1;
  let since = Date.now();
  await within(
    QUIET_TIMEOUT_MS,
    async () => {
      const { returnsSent, returnsAcknowledged, resends } = (await fleet.swarm.stats()).total;
      const now = returnsSent + returnsAcknowledged + resends;
      if (now !== sent) since = Date.now();
      sent = now;
      return Date.now() - since >= QUIET_MS;
    },
    () => 'minions still send',
  );
  if (untilClosed) {
    await within(
      READY_TIMEOUT_MS,
      async () => (await stored.open()) === 0,
      () => 'jobs are not closed after their deadline',
    );
  }
  return failures;
}

/** Checks the ledger; repeats while missing data may still arrive. */
export async function checkAtRest(
  options: Pick<ChaosOptions, 'installation' | 'run' | 'after' | 'known'>,
): Promise<LedgerReport> {
  const { installation, run, after, known = 'all' } = options;
  const databaseUrl = await installation.databaseUrl();
  const fresh = after === '';
  const until = Date.now() + STORED_TIMEOUT_MS;
  for (;;) {
    const report = await checkLedger({ databaseUrl, logs: [run.log], after, known, fresh });
    const mayCome = ['return-lost', 'job-lost', 'return-without-job'] as const;
    const waits = mayCome.some((kind) => (report.counts[kind] ?? 0) > 0);
    if (!waits || Date.now() > until) return report;
    await sleep(4 * POLL_MS);
  }
}
