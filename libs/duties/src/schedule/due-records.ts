import { type Bucket, changeValue, escapeKey } from '@brine/bus';
import type { ScheduledRun } from '@brine/runners';
import {
  boolOf,
  intOf,
  isMap,
  listOf,
  mapOf,
  pack,
  type SaltMap,
  textOf,
  unpack,
} from '@brine/wire';

/** The result of a claim for a due time. */
export type Claim =
  /** This process owns it; `again`: another process began with it and died. */
  | { readonly kind: 'mine'; readonly jid: string; readonly again: boolean }
  /** The run has already ended. */
  | { readonly kind: 'known' }
  /** Another process works on it. */
  | { readonly kind: 'elsewhere' }
  /** The maximum of runs is running. */
  | { readonly kind: 'full' };

/** The process that claims a due time. */
export interface Claimant {
  readonly processId: string;
  /** Limit of concurrent runs of the job; undefined: none. */
  readonly maxRunning: number | undefined;
  readonly nowMs: number;
  newJid(): string;
}

/** Number of ended due times per job that are remembered. */
const REMEMBERED = 32;
/** Number of current runs per job that are remembered; beyond it the oldest counts as lost. */
const RUNNING_MAX = 128;
/** A run without a beat for this time has lost its process, ms. */
export const SILENT_MS = 45_000;
/** After this time the message of a run is deleted too, so it no longer counts as running. */
const LOST_MS = 15 * 60_000;

/**
 * The outcomes of each job's due times, in the bucket `brine_reactor`. A due time is claimed before
 * it runs, so that it runs once, however often its message is delivered.
 */
export class DueRecords {
  readonly #bucket: Pick<Bucket, 'get' | 'update'>;

  constructor(bucket: Pick<Bucket, 'get' | 'update'>) {
    this.#bucket = bucket;
  }

  /** The remembered runs of a job, the newest first. @throws BusError */
  async runs(name: string): Promise<readonly ScheduledRun[]> {
    const entry = await this.#bucket.get(keyOf(name));
    return entry === undefined ? [] : readRuns(entry.value);
  }

  /** Claims a due time. @throws BusError */
  claim(name: string, dueMs: number, claimant: Claimant): Promise<Claim> {
    return this.#change(name, (runs) => claimed(runs, dueMs, claimant));
  }

  /** Records that a run is alive; false if another process owns it. @throws BusError */
  alive(name: string, dueMs: number, processId: string, nowMs: number): Promise<boolean> {
    return this.#change(name, (runs) => {
      const run = runs.find((one) => one.dueMs === dueMs);
      const isMine = run?.worker === processId && run.endedMs === undefined;
      return {
        answer: isMine,
        ...(isMine ? { next: replaced(runs, { ...run, seenMs: nowMs }) } : {}),
      };
    });
  }

  /** Records the end of a run. @throws BusError */
  async ended(
    name: string,
    dueMs: number,
    how: Pick<ScheduledRun, 'endedMs' | 'success' | 'retcode'>,
  ): Promise<void> {
    await this.#change(name, (runs) => {
      const run = runs.find((one) => one.dueMs === dueMs);
      if (run === undefined) return { answer: undefined };
      const next = replaced(runs, { ...run, ...how });
      return { answer: undefined, next: kept(next, how.endedMs ?? 0) };
    });
  }

  /** Changes the record of a job, and retries if another process was first. */
  #change<T>(name: string, make: (runs: readonly ScheduledRun[]) => Change<T>): Promise<T> {
    return changeValue(this.#bucket, keyOf(name), (entry) => {
      const { answer, next } = make(entry === undefined ? [] : readRuns(entry.value));
      return next === undefined ? { answer } : { answer, value: writeRuns(next) };
    });
  }
}

interface Change<T> {
  readonly answer: T;
  /** Absent: nothing is stored. */
  readonly next?: readonly ScheduledRun[];
}

function claimed(runs: readonly ScheduledRun[], dueMs: number, claimant: Claimant): Change<Claim> {
  const { processId, maxRunning = Infinity, nowMs } = claimant;
  const known = runs.find((run) => run.dueMs === dueMs);
  if (known?.endedMs !== undefined) return { answer: { kind: 'known' } };
  if (known !== undefined) {
    const isAlive = nowMs - known.seenMs < SILENT_MS;
    if (isAlive && known.worker !== processId) return { answer: { kind: 'elsewhere' } };
    const mine = { ...known, worker: processId, seenMs: nowMs };
    return {
      answer: { kind: 'mine', jid: known.jid, again: true },
      next: replaced(runs, mine),
    };
  }
  const oldest = runs.at(-1);
  // Due times before all remembered ones have been forgotten.
  if (runs.length >= REMEMBERED && oldest !== undefined && dueMs < oldest.dueMs) {
    return { answer: { kind: 'known' } };
  }
  const running = runs.filter((run) => isRunning(run, nowMs));
  if (running.length >= maxRunning) {
    // Recorded, so that it does not run when the message is delivered again.
    const skipped = { dueMs, jid: '', worker: processId, seenMs: nowMs, endedMs: nowMs };
    const reason = 'maxrunning';
    return { answer: { kind: 'full' }, next: kept([{ ...skipped, reason }, ...runs], nowMs) };
  }
  const jid = claimant.newJid();
  const begun: ScheduledRun = { dueMs, jid, worker: processId, seenMs: nowMs };
  return { answer: { kind: 'mine', jid, again: false }, next: kept([begun, ...runs], nowMs) };
}

/** True if a run counts as running. */
export function isRunning(run: ScheduledRun, nowMs: number): boolean {
  return run.endedMs === undefined && nowMs - run.seenMs < LOST_MS;
}

function replaced(runs: readonly ScheduledRun[], run: ScheduledRun): readonly ScheduledRun[] {
  return runs.map((one) => (one.dueMs === run.dueMs ? run : one));
}

/** All current runs, and the newest ended ones. */
function kept(runs: readonly ScheduledRun[], nowMs: number): readonly ScheduledRun[] {
  const sorted = [...runs].sort((a, b) => b.dueMs - a.dueMs);
  const running = sorted.filter((run) => isRunning(run, nowMs)).slice(0, RUNNING_MAX);
  const ended = sorted.filter((run) => !isRunning(run, nowMs)).slice(0, REMEMBERED);
  return [...running, ...ended].sort((a, b) => b.dueMs - a.dueMs);
}

function keyOf(name: string) {
  return escapeKey('due', name);
}

function writeRuns(runs: readonly ScheduledRun[]): Buffer {
  const list = runs.map(({ dueMs, jid, worker, seenMs, endedMs, success, retcode, reason }) =>
    mapOf({ due: dueMs, jid, worker, seen: seenMs, ended: endedMs, success, retcode, reason }),
  );
  return pack(mapOf({ runs: list }));
}

function readRuns(value: Uint8Array): readonly ScheduledRun[] {
  const stored = value.length === 0 ? null : unpack(value);
  const list = isMap(stored) ? (listOf(stored, 'runs') ?? []) : [];
  return list.filter(isMap).flatMap((map) => {
    const run = readRun(map);
    return run === undefined ? [] : [run];
  });
}

function readRun(map: SaltMap): ScheduledRun | undefined {
  const dueMs = intOf(map, 'due');
  const seenMs = intOf(map, 'seen');
  if (dueMs === undefined || seenMs === undefined) return undefined;
  const endedMs = intOf(map, 'ended');
  const success = boolOf(map, 'success');
  const retcode = intOf(map, 'retcode');
  const reason = textOf(map, 'reason');
  return {
    dueMs,
    seenMs,
    jid: textOf(map, 'jid') ?? '',
    worker: textOf(map, 'worker') ?? '',
    ...(endedMs === undefined ? {} : { endedMs }),
    ...(success === undefined ? {} : { success }),
    ...(retcode === undefined ? {} : { retcode }),
    ...(reason === undefined ? {} : { reason }),
  };
}
