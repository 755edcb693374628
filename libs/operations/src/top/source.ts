import type { JobRecords } from '@brine/client';
import type { MasterOptions } from '@brine/config';
import { isSystemError } from '@brine/files';
import { isJid, jidTimeMs } from '@brine/job';
import { intOf, isMap, listOf, mapIn, type SaltMap, textOf } from '@brine/wire';
import { plainText, pyStr } from '@brine/wire/text';
import { askCluster, firstSentence } from '../cluster-status/cluster.ts';
import type { Cluster } from '../roll/roll.ts';
import type { TopState } from './state.ts';

/** Jobs that are shown: the newest. */
const JOBS_MAX = 60;
/** Ledgers per query: those of open jobs, the newest first. */
const LEDGERS_MAX = 20;
/** Minions that are listed. */
const MINIONS_MAX = 200;
/** Silent minions of a job that are shown. */
const SILENT_MAX = 200;
/** Interval for listing minions, ms: the list of 20,000 minions is expensive. */
const MINIONS_EVERY_MS = 10_000;

/** A job, and the states of its minions. */
export interface JobLine {
  readonly jid: string;
  readonly fun: string;
  readonly target: string;
  readonly user: string;
  readonly startedMs: number;
  /** Undefined until it is loaded. */
  readonly ledger: Ledger | undefined;
}

/** Number of minions of a job in each state. */
export interface Ledger {
  readonly targeted: number;
  readonly waiting: number;
  readonly returned: number;
  readonly failed: number;
  /** Late or never. */
  readonly missed: number;
}

/** A minion that is not connected, or waits for a decision. */
export interface MinionLine {
  readonly id: string;
  readonly state: string;
  readonly goneMs: number;
  readonly address: string;
}

/** Counts of minions by state. */
export interface Minions {
  readonly keys: ReadonlyMap<string, number>;
  /** Undefined if no worker tracks presence. */
  readonly present: number | undefined;
  readonly listed: readonly MinionLine[];
}

/** Why a minion of a job is silent. */
export interface SilentLine {
  readonly id: string;
  readonly cause: string;
  readonly text: string;
}

/** The result of the last query; a part that failed has its reason instead. */
export interface TopData {
  readonly atMs: number;
  readonly cluster: Cluster | string;
  /** Requests that gateways answered per second since the previous query. */
  readonly perSecond: number | undefined;
  readonly jobs: readonly JobLine[] | string | undefined;
  readonly minions: Minions | string | undefined;
  readonly silent: readonly SilentLine[] | string | undefined;
}

type Asked = Pick<JobRecords, 'roll' | 'list' | 'ledger' | 'minions' | 'why'>;

/** Queries the master for the data on screen, and caches data that does not change. */
export class TopSource {
  readonly #options: MasterOptions | undefined;
  readonly #records: Asked;
  readonly #now: () => number;
  /** Ledgers of finished jobs. */
  #done = new Map<string, Ledger>();
  #answered: { readonly count: number; readonly atMs: number } | undefined;
  #minions: { readonly found: Minions; readonly atMs: number } | undefined;

  /** @param options of this host's master; undefined elsewhere */
  constructor(options: MasterOptions | undefined, records: Asked, now: () => number = Date.now) {
    this.#options = options;
    this.#records = records;
    this.#now = now;
  }

  /** Queries once. Rejects only with EACCES, if this user may read nothing of the master. */
  async look({ view, jid }: Pick<TopState, 'view' | 'jid'>): Promise<TopData> {
    const [cluster, jobs, minions, silent] = await Promise.all([
      orReason(askCluster(this.#options, this.#records)),
      view === 'jobs' ? orReason(this.#jobs()) : undefined,
      view === 'minions' ? orReason(this.#listMinions()) : undefined,
      jid === undefined ? undefined : orReason(this.#silent(jid)),
    ]);
    const perSecond = typeof cluster === 'string' ? undefined : this.#rate(cluster);
    return { atMs: this.#now(), cluster, perSecond, jobs, minions, silent };
  }

  #rate({ services }: Cluster): number | undefined {
    const counts = services.map(({ status }) => status['answered']);
    const count = counts.reduce<number>((sum, one) => sum + (typeof one === 'number' ? one : 0), 0);
    const before = this.#answered;
    const atMs = this.#now();
    this.#answered = { count, atMs };
    // A gateway that was restarted counts from 0 again.
    if (before === undefined || count < before.count || atMs <= before.atMs) return undefined;
    return ((count - before.count) * 1000) / (atMs - before.atMs);
  }

  async #jobs(): Promise<readonly JobLine[]> {
    const listed = await this.#records.list({ limit: JOBS_MAX, leaveOutHidden: true });
    const lines: JobLine[] = [];
    const kept = new Map<string, Ledger>();
    let asked = 0;
    for (const [jid, job] of [...listed].reverse()) {
      let ledger = this.#done.get(jid);
      if (ledger === undefined && asked < LEDGERS_MAX) {
        asked += 1;
        ledger = ledgerOf(await this.#records.ledger(jid));
      }
      if (ledger !== undefined && ledger.waiting === 0) kept.set(jid, ledger);
      lines.push(jobLine(jid, job, ledger));
    }
    this.#done = kept;
    return lines;
  }

  async #listMinions(): Promise<Minions> {
    const kept = this.#minions;
    if (kept !== undefined && this.#now() - kept.atMs < MINIONS_EVERY_MS) return kept.found;
    const found = minionsOf(await this.#records.minions(MINIONS_MAX));
    this.#minions = { found, atMs: this.#now() };
    return found;
  }

  async #silent(jid: string): Promise<readonly SilentLine[]> {
    const found = await this.#records.why(jid, undefined, SILENT_MAX);
    return [...(found ?? [])].slice(0, SILENT_MAX).map(([id, { cause, text }]) => {
      return { id: plainText(id), cause: plainText(cause), text: plainText(text) };
    });
  }
}

async function orReason<T>(asked: Promise<T>): Promise<T | string> {
  try {
    return await asked;
  } catch (error) {
    if (isSystemError(error, 'EACCES')) throw error;
    return plainText(firstSentence(error));
  }
}

function jobLine(jid: string, job: SaltMap, ledger: Ledger | undefined): JobLine {
  const shown = (key: string): string => plainText(pyStr(job.get(key) ?? ''));
  return {
    jid,
    fun: shown('Function'),
    target: shown('Target'),
    user: shown('User'),
    startedMs: isJid(jid) ? jidTimeMs(jid) : 0,
    ledger,
  };
}

function ledgerOf(answer: SaltMap): Ledger {
  const count = (name: string): number => intOf(answer, name) ?? 0;
  return {
    targeted: count('targeted'),
    waiting: count('waiting'),
    returned: count('returned'),
    failed: count('failed'),
    missed: count('late') + count('never'),
  };
}

function minionsOf(answer: SaltMap): Minions {
  const keys = new Map<string, number>();
  for (const [state, count] of mapIn(answer, 'keys') ?? []) {
    if (typeof state === 'string' && typeof count === 'number') keys.set(state, count);
  }
  const listed = (listOf(answer, 'listed') ?? []).filter(isMap).map((one) => ({
    id: plainText(textOf(one, 'id') ?? ''),
    state: textOf(one, 'state') ?? '',
    goneMs: Number(one.get('goneMs') ?? 0),
    address: plainText(textOf(one, 'address') ?? ''),
  }));
  return { keys, present: intOf(answer, 'present'), listed };
}
