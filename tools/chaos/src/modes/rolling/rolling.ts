import type { LedgerReport } from '@brine/ledger-check';
import type { Swarm } from '@brine/swarm';
import { type Given, text, whole } from '@brine/swarm/options';
import { sleepUnless } from '@brine/tasks';
import type { BrineMaster } from '@brine/testing';
import { drawEnd, drawLoad } from '../../draw-chaos.ts';
import { type Fleet, Load, type LoadCounts } from '../../load.ts';
import { StoredProbes, untilRecovered } from '../../recovery.ts';
import type { Run } from '../../run.ts';
import { checkAtRest, comeToRest } from '../../run-chaos.ts';
import { installationOf, startMaster } from '../../start-master.ts';
import { PREFIX, startSwarm } from '../../swarm.ts';
import { modeOf } from '../mode.ts';
import { type CommandCounts, Commands } from './commands.ts';
import { withoutEarlierFault } from './earlier-release.ts';
import { REAL_PREFIX, startRealMinions } from './real-minions.ts';
import { Releases } from './releases.ts';
import { countWritten, type Written } from './written.ts';

const OPTIONS = {
  rolling: whole('<n>', 'restarts of all services', [1, 1_000, 1]),
  minions: whole(
    '<n>',
    'simulated ones; deaf for 1 to 11 s after 4505 was lost',
    [20, 100_000, 200],
  ),
  real: whole('<n>', 'real ones, of 3006.26, 3007.13, 3008.2 in turn', [0, 100, 0]),
  jobs: whole('<n>', 'per second', [1, 1_000, 5]),
  allEvery: whole('<n>', 'one job in so many is for all simulated minions', [1, 1_000_000, 25]),
  workers: whole('<n>', 'of the master', [1, 64, 2]),
  processes: whole('<n>', 'of the rig', [1, 64, 1]),
  pause: whole('<s>', 'between two restarts', [0, 3_600, 15]),
  commands: whole('<n>', 'salt commands at a time, to the real minions', [0, 16, 1]),
  deadline: whole('<s>', 'a job waits so long for its returns', [1, 3_600, 45]),
  // On a starved machine 3 sends, as stock, are too few.
  sends: whole('<n>', 'of what is not answered, by minions and the client', [1, 100, 3]),
  from: text('<commit|directory>', 'begin with its build; each restart changes to the other one'),
};

type Asked = Given<typeof OPTIONS>;

/** Restarts of all services under load. */
export const rolling = modeOf({
  about: `npm run chaos -- --rolling <n>    n rolling restarts under load

With --from, two restarts upgrade and go back. "--from release" is the last one of the history.`,
  options: OPTIONS,
  run: runRolling,
  draw: drawRolling,
});

/** One restart of all services. */
interface Round {
  readonly number: number;
  readonly seconds: number;
  /** Log-ins of simulated minions from this restart until the next, or the end. */
  readonly logIns: number;
  /** The release of the services after a change. */
  readonly to?: string;
  /** The last job that was stored when all services had been replaced. */
  readonly last: string;
}

/** The result of a run. */
interface RollingReport {
  readonly rounds: readonly Round[];
  readonly load: LoadCounts;
  readonly commands: CommandCounts;
  readonly logIns: {
    /** Log-ins of simulated minions, before the first restart, and since then. */
    readonly before: number;
    readonly during: number;
    /** Log-ins of each real minion since then, as recorded by the master (its last 8). */
    readonly real: Readonly<Record<string, number>>;
    /** Connections to 4505 that simulated minions lost. */
    readonly subscriptions: number;
  };
  /** How the returns of the last 15 minutes are stored in the stream. */
  readonly written: Written;
  /** Failures beside those of the ledger. */
  readonly failures: readonly string[];
  readonly ledger?: LedgerReport;
  /** Jobs duplicated by a bug of the previous release, which the ledger ignores. */
  readonly forgiven: readonly string[];
  readonly ok: boolean;
}

/** Reconnect times of stock minions, so that their time without a subscription shows. */
const RECONNECT_MS = [1_000, 11_000] as const;
const READY_MS = 90_000;
const RESTART_MS = 300_000;

/** Starts a master and minions, restarts all its services again and again under load, checks. */
async function runRolling(asked: Asked, run: Run): Promise<RollingReport> {
  const { minions, jobs, allEvery, sends, workers, deadline } = asked;
  const releases =
    asked.from === undefined ? undefined : await Releases.prepare(asked.from, run.print);
  run.onEnd(async () => releases?.remove());
  run.print('a master starts');
  const master = await startMaster(
    run,
    { gather_job_timeout: 10, brine: { workers, job_deadline: deadline } },
    { logLevel: 'warning', program: releases?.program },
  );
  const installation = installationOf(master.home);
  const swarm = await startSwarm(master.home, run, {
    minions,
    processes: asked.processes,
    reconnectMs: RECONNECT_MS,
    returnSends: sends,
  });
  const fleet: Fleet = { swarm, minions, prefix: PREFIX, cachedir: master.home.cacheDir, sends };
  const stored = new StoredProbes(() => installation.databaseUrl());
  run.onEnd(() => stored.close());
  await swarm.connect();
  const real = await startRealMinions(master, asked.real);
  await untilRecovered(fleet, stored, READY_MS);
  const before = await logInsOf(swarm, stored);
  // Real minions were asked before all of them had subscribed.
  const begun = (await stored.lastJid()) ?? '';
  const load = new Load(fleet, { jobs, returns: 0, logIns: 0, allEvery });
  const lanes = asked.real > 0 ? asked.commands : 0;
  const typing = lanes > 0 ? await Commands.start(master, real, lanes) : undefined;
  const failures: string[] = [];
  const watched = { failures, swarm, stored };
  const rounds = await restartAll(master, releases, watched, asked, run);
  run.print('drain');
  await load.stop();
  const commands = (await typing?.stop()) ?? { typed: 0, failed: [] };
  failures.push(...(await comeToRest({ installation, fleet, untilClosed: true }, stored)));
  const after = await logInsOf(swarm, stored);
  await swarm.close();
  const books = await checkAtRest({ installation, run, after: '' });
  const lastOfBefore = releases === undefined ? '' : (rounds[0]?.last ?? '');
  const { ledger, forgiven } = withoutEarlierFault(books, lastOfBefore);
  const written = await countWritten(installation.options.brine.stateDir);
  const unreturned = await stored.unreturned(begun);
  const unseen = real.filter((id) => after.real[id] === undefined);
  if (unseen.length > 0) failures.push(`no log-in noted of ${unseen.join(', ')}`);
  if (unreturned > 0) failures.push(`${unreturned} returns wait, failed or never came`);
  const { counts } = load;
  const unheard = counts.unanswered + counts.unsure + counts.refused;
  const ok = failures.length === 0 && unheard === 0 && commands.failed.length === 0 && ledger.ok;
  const logIns = between(before, after, real);
  return { rounds, load: counts, commands, logIns, written, failures, ledger, forgiven, ok };
}

/** Log-ins until now, of simulated and of real minions. */
interface LogIns {
  readonly simulated: number;
  readonly subscriptionsLost: number;
  readonly real: Readonly<Record<string, number>>;
}

async function logInsOf(swarm: Swarm, stored: StoredProbes): Promise<LogIns> {
  const { logIns, subscriptionsLost } = (await swarm.stats()).total;
  return { simulated: logIns, subscriptionsLost, real: await stored.logIns(REAL_PREFIX) };
}

function between(before: LogIns, after: LogIns, real: readonly string[]): RollingReport['logIns'] {
  const more = real.map((id) => [id, (after.real[id] ?? 0) - (before.real[id] ?? 0)]);
  return {
    before: before.simulated,
    during: after.simulated - before.simulated,
    real: Object.fromEntries(more) as Readonly<Record<string, number>>,
    subscriptions: after.subscriptionsLost - before.subscriptionsLost,
  };
}

/** Observations while services are replaced. */
interface Watched {
  readonly failures: string[];
  readonly swarm: Swarm;
  readonly stored: StoredProbes;
}

async function restartAll(
  master: BrineMaster,
  releases: Releases | undefined,
  { failures, swarm, stored }: Watched,
  { rolling: count, pause: pauseS }: Asked,
  { print, signal }: Run,
): Promise<Round[]> {
  const logIns = async (): Promise<number> => (await swarm.stats()).total.logIns;
  const rounds: Omit<Round, 'logIns'>[] = [];
  const counts: number[] = [];
  for (let number = 1; number <= count && !signal.aborted; number += 1) {
    await sleepUnless(pauseS * 1_000, signal);
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
    print(`${String(number).padStart(4)}  all services replaced${by} in ${seconds} s`);
  }
  // A minion that lost 4505 receives nothing for up to 11 s: jobs of that time are part of the run.
  await sleepUnless(pauseS * 1_000, signal);
  counts.push(await logIns());
  return rounds.map((round, at) => {
    return { ...round, logIns: (counts[at + 1] ?? 0) - (counts[at] ?? 0) };
  });
}

function drawRolling(report: RollingReport): string {
  const { rounds, load, commands, logIns, written, failures, ledger, forgiven, ok } = report;
  const seconds = rounds.map((round) => round.seconds.toFixed(1)).join(', ');
  const real = Object.entries(logIns.real).map(([id, count]) => `${id} ${count}`);
  const lines = [
    `${rounds.length} rolling restarts, each of all services, in s: ${seconds}`,
    drawLoad(load),
    `commands: ${commands.typed} typed, ${commands.failed.length} failed`,
    `log-ins of simulated minions: ${logIns.before} to begin with, ${logIns.during} more: ` +
      `${rounds.map((round) => round.logIns).join(', ')} after each restart`,
    ...(real.length > 0
      ? [`log-ins of real minions since the first restart: ${real.join(', ')}`]
      : []),
    `returns in the stream: ${written.alone} alone, ${written.paged} in ${written.pages} pages`,
    `subscriptions lost and made again: ${logIns.subscriptions}`,
    ...commands.failed.map((output) => `failed: ${output}`),
    ...failures.map((failure) => `failure: ${failure}`),
    ...forgiven.map((jid) => `made twice by a gateway of the release before: ${jid}`),
  ];
  return `${lines.join('\n')}${drawEnd(ledger, ok)}`;
}
