import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadMasterConfig } from '@brine/config';
import type { LedgerReport } from '@brine/ledger-check';
import { Swarm } from '@brine/swarm';
import { BrineMaster } from '@brine/testing';
import { Installation } from '../../installation.ts';
import { type Fleet, Load, type LoadCounts } from '../../load.ts';
import { StoredProbes, untilRecovered } from '../../recovery.ts';
import { checkAtRest, comeToRest } from '../../run-chaos.ts';
import type { RollingArguments } from './arguments.ts';
import { type CommandCounts, Commands } from './commands.ts';
import { withoutEarlierFault } from './earlier-release.ts';
import { REAL_PREFIX, startRealMinions } from './real-minions.ts';
import { Releases } from './releases.ts';
import { countWritten, type Written } from './written.ts';

/** What a run needs. */
export interface RollingOptions extends Omit<RollingArguments, 'json'> {
  readonly tell: (line: string) => void;
  /** The run ends early, in order, once this is aborted. */
  readonly signal: AbortSignal;
}

/** One restart of all services. */
export interface Round {
  readonly number: number;
  readonly seconds: number;
  /** Log-ins of simulated minions from its begin until the next one, or the end. */
  readonly logIns: number;
  /** The release that the services then are of, where they change. */
  readonly to?: string;
  /** The last job that was stored when all services had been replaced. */
  readonly last: string;
}

/** How a run went. */
export interface RollingReport {
  readonly rounds: readonly Round[];
  readonly load: LoadCounts;
  readonly commands: CommandCounts;
  readonly logIns: {
    /** Of simulated minions, before the first restart, and since then. */
    readonly before: number;
    readonly during: number;
    /** Of each real minion since the first restart, as the master noted them (its last 8). */
    readonly real: Readonly<Record<string, number>>;
    /** Connections to 4505 that simulated minions lost. */
    readonly subscriptions: number;
  };
  /** How the returns of the last 15 minutes lie in the stream. */
  readonly written: Written;
  /** What went wrong beside the books, in words. */
  readonly failures: readonly string[];
  readonly ledger?: LedgerReport;
  /** Jobs that a fault of the release before made twice, which the ledger leaves out. */
  readonly forgiven: readonly string[];
  readonly ok: boolean;
}

const PREFIX = 'chaos-';
/** As stock minions wait, so that their deafness is seen. */
const RECONNECT_MS = [1_000, 11_000] as const;
const READY_MS = 90_000;
const RESTART_MS = 300_000;

/** Starts a master and minions, restarts all its services again and again under load, checks. */
export async function runRolling(options: RollingOptions): Promise<RollingReport> {
  const { tell, workers, deadlineS } = options;
  const dir = await mkdtemp(join(tmpdir(), 'brine-rolling-'));
  const log = join(dir, 'ledger.jsonl');
  const releases =
    options.from === undefined ? undefined : await Releases.prepare(options.from, tell);
  tell('a master starts');
  const master = await BrineMaster.start(
    { gather_job_timeout: 10, brine: { workers, job_deadline: deadlineS } },
    { logLevel: 'warning', program: releases?.program },
  );
  let report: RollingReport | undefined;
  try {
    report = await runOn({ master, releases }, log, options);
    return report;
  } finally {
    const keep = options.keep || report?.ok !== true;
    if (keep) tell(`kept: ${dir} (log of the rig), ${master.sandbox.keepLogs()} (the master)`);
    await master.close();
    await releases?.remove();
    if (!keep) await rm(dir, { recursive: true });
  }
}

/** What is restarted. */
interface Restarted {
  readonly master: BrineMaster;
  readonly releases: Releases | undefined;
}

async function runOn(
  restarted: Restarted,
  log: string,
  options: RollingOptions,
): Promise<RollingReport> {
  const { master } = restarted;
  const { minions, jobs, allEvery, sends, tell } = options;
  const { cacheDir: cachedir, configDir } = master.home;
  const installation = new Installation(loadMasterConfig({ configDir, env: {} }).options);
  const swarm = await startSwarm(master, log, options);
  const fleet: Fleet = { swarm, minions, prefix: PREFIX, cachedir, sends };
  const stored = new StoredProbes(() => installation.databaseUrl());
  try {
    await swarm.connect();
    const real = await startRealMinions(master, options.real);
    await untilRecovered(fleet, stored, READY_MS);
    const before = { swarm: (await swarm.stats()).total, real: await stored.logIns(REAL_PREFIX) };
    // Real minions were asked before all of them had subscribed.
    const begun = (await stored.lastJid()) ?? '';
    const load = new Load(fleet, { jobs, returns: 0, logIns: 0, allEvery });
    const typing =
      options.commands > 0 && options.real > 0
        ? await Commands.start(master, real, options.commands)
        : undefined;
    const failures: string[] = [];
    const logIns = async (): Promise<number> => (await swarm.stats()).total.logIns;
    const rounds = await restartAll(restarted, options, { failures, logIns, stored });
    tell('drain');
    await load.stop();
    const commands = (await typing?.stop()) ?? { typed: 0, failed: [] };
    const resting = { installation, fleet, untilClosed: true };
    failures.push(...(await comeToRest(resting, stored)));
    const after = (await swarm.stats()).total;
    const realAfter = await stored.logIns(REAL_PREFIX);
    await swarm.close();
    const books = await checkAtRest({ installation, log, after: '' });
    const lastOfBefore = restarted.releases === undefined ? '' : (rounds[0]?.last ?? '');
    const { ledger, forgiven } = withoutEarlierFault(books, lastOfBefore);
    const written = await countWritten(installation.options.brine.stateDir);
    const unreturned = await stored.unreturned(begun);
    const unseen = real.filter((id) => realAfter[id] === undefined);
    if (unseen.length > 0) failures.push(`no log-in noted of ${unseen.join(', ')}`);
    if (unreturned > 0) failures.push(`${unreturned} returns wait, failed or never came`);
    const unheard = load.counts.unanswered + load.counts.unsure + load.counts.refused;
    return {
      rounds,
      load: load.counts,
      commands,
      logIns: {
        before: before.swarm.logIns,
        during: after.logIns - before.swarm.logIns,
        real: Object.fromEntries(
          real.map((id) => [id, (realAfter[id] ?? 0) - (before.real[id] ?? 0)]),
        ),
        subscriptions: after.subscriptionsLost - before.swarm.subscriptionsLost,
      },
      written,
      failures,
      ledger,
      forgiven,
      ok: failures.length === 0 && unheard === 0 && commands.failed.length === 0 && ledger.ok,
    };
  } finally {
    await swarm.close();
    await stored.close();
  }
}

function startSwarm(
  master: BrineMaster,
  log: string,
  { minions, processes, sends, tell }: RollingOptions,
): Promise<Swarm> {
  const { pkiDir, retPort } = master.home;
  return Swarm.start({
    retPort,
    minions,
    processes,
    idPrefix: PREFIX,
    keyPairs: 16,
    pkiDir,
    reconnectMs: RECONNECT_MS,
    returnSends: sends,
    log,
    onProgress: tell,
  });
}

/** What is looked at while services are replaced. */
interface Watched {
  readonly failures: string[];
  readonly logIns: () => Promise<number>;
  readonly stored: StoredProbes;
}

async function restartAll(
  { master, releases }: Restarted,
  { rounds: count, pauseS, signal, tell }: RollingOptions,
  { failures, logIns, stored }: Watched,
): Promise<Round[]> {
  const rounds: Omit<Round, 'logIns'>[] = [];
  const counts: number[] = [];
  for (let number = 1; number <= count && !signal.aborted; number += 1) {
    await sleep(pauseS * 1_000, undefined, { signal }).catch(() => undefined);
    const pids = async (): Promise<Map<string, number | undefined>> =>
      new Map((await master.services()).map(({ name, pid }) => [name, pid]));
    const before = await pids();
    counts.push(await logIns());
    const to = await releases?.change();
    const { code, stderr, ms } = await master.brine('restart', [], RESTART_MS);
    const after = await pids();
    const same = [...before].filter(([name, pid]) => after.get(name) === pid).map(([name]) => name);
    if (code !== 0) failures.push(`restart ${number}: exit ${code}: ${stderr.trim()}`);
    if (same.length > 0) failures.push(`restart ${number}: not replaced: ${same.join(', ')}`);
    const last = (await stored.lastJid()) ?? '';
    rounds.push({ number, seconds: ms / 1_000, last, ...(to === undefined ? {} : { to }) });
    const by = to === undefined ? '' : ` by those of ${to}`;
    const seconds = (ms / 1_000).toFixed(1);
    tell(`${String(number).padStart(4)}  all services replaced${by} in ${seconds} s`);
  }
  // A minion that lost 4505 last is deaf for up to 11 s: jobs of that time are part of the run.
  await sleep(pauseS * 1_000, undefined, { signal }).catch(() => undefined);
  counts.push(await logIns());
  return rounds.map((round, at) => {
    return { ...round, logIns: (counts[at + 1] ?? 0) - (counts[at] ?? 0) };
  });
}
