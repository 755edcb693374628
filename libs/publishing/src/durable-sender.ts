import type { Again } from '@brine/bus/jobs';
import { JidMaker, type Job } from '@brine/job';
import { durablePieces } from '@brine/job/durable';
import type { Trouble } from '@brine/tasks';
import { mapOf, pack, unpackMap } from '@brine/wire';
import { buildPublish, buildPublishedJob } from '@brine/wire/load';
import { listedFor } from './again-rule.ts';
import type { DurablePublications, DurableStore, DurableTask, LogIns } from './ports.ts';

/** Counts of the re-sends. */
export interface DurableStats {
  /** Durable jobs that were open at the last look. */
  readonly open: number;
  /** Minions that were asked, and minions that were sent the job again; each time counts. */
  readonly asked: number;
  readonly sentAgain: number;
  /** Looks that failed: the store or the stream was unreachable. */
  readonly failed: number;
}

/** The parts of a {@link DurableSender}. */
export interface DurableParts {
  readonly store: DurableStore;
  readonly publications: DurablePublications;
  readonly logIns: () => LogIns;
  readonly now: () => number;
  /** Waits in ms; resolves at once when the signal is aborted. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<unknown>;
  readonly onTrouble: Trouble;
}

// How often it looks while jobs are open, and while none is known: another publisher may know an
// open one, or a job was published before this publisher started.
const BUSY_LOOK_MS = 1_000;
const IDLE_LOOK_MS = 10_000;
const FRESH_MS = 30_000;
// At a start the store is rarely ready, so the first failures are not logged.
const WARNED_AT = 3;
// Every minion receives and opens each piece: ten pieces a second.
const PIECE_PAUSE_MS = 100;
const TASKS_PER_LOOK = 50;
// Log-ins between two looks; minions beyond this number wait for the next regular turn.
const LOG_INS_MAX = 10_000;
// A question or a repetition expires after this.
const NOT_AFTER_MS = 15_000;
/** Salt: `timeout` of a minion's find_job is the client's gather_job_timeout, 10 s. */
const QUESTION_DEADLINE_MS = 60_000;
const FIND_JOB = 'saltutil.find_job';
/** The user of the questions, in logs of minions and in the job cache. */
const ASKER = 'brine';

/**
 * Sends durable jobs again to minions that were unreachable. The store decides on messages and
 * times, for one owner at a time (libs/job durable.ts). The sender appends a message to
 * PUBLICATIONS under an id that makes a second append harmless, and confirms. It remembers only
 * log-ins, which bring a turn forward.
 */
export class DurableSender {
  readonly #parts: DurableParts;
  readonly #jids = new JidMaker();
  readonly #mark = `durable${Math.random().toString(36).slice(2, 10)}`;
  readonly #stop = new AbortController();
  #wake = new AbortController();
  readonly #loggedIn = new Map<string, number>();
  #logIns: LogIns | undefined;
  #stats = { open: 0, asked: 0, sentAgain: 0, failed: 0 };
  #failures = 0;
  /** The store may read a job a little later than the publisher did. */
  #busyUntil = 0;

  constructor(parts: DurableParts) {
    this.#parts = parts;
  }

  get stats(): DurableStats {
    return this.#stats;
  }

  /** Looks soon, after a durable job was published. */
  wake(): void {
    this.#busyUntil = this.#parts.now() + FRESH_MS;
    this.#wake.abort();
  }

  /** Looks until closed. Never rejects. */
  async run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.look();
      const busy = this.#stats.open > 0 || this.#parts.now() < this.#busyUntil;
      if (busy) this.#listen();
      else this.#listenNoMore();
      this.#wake = new AbortController();
      // While jobs are open it looks each second; a wake-up does not make that more frequent.
      const signal = busy ? this.#stop.signal : this.#either();
      await this.#parts.wait(busy ? BUSY_LOOK_MS : IDLE_LOOK_MS, signal);
    }
    this.#listenNoMore();
  }

  /** Does the actions that are due. Never rejects: the store hands out failed actions again. */
  async look(): Promise<void> {
    try {
      for (let tasks = 0; tasks < TASKS_PER_LOOK && !this.#stop.signal.aborted; tasks += 1) {
        const loggedIn = new Map(this.#loggedIn);
        const work = await this.#parts.store.take(loggedIn, this.#probeJid());
        this.#forget(loggedIn);
        this.#stats.open = work.open;
        this.#failures = 0;
        if (work.task === undefined) return;
        await this.#append(work.task);
        await this.#parts.store.confirm(work.task);
      }
    } catch (error) {
      this.#stats.failed += 1;
      this.#failures += 1;
      if (this.#failures === WARNED_AT) this.#parts.onTrouble('durable jobs wait', error);
    }
  }

  close(): void {
    this.#stop.abort();
    this.#listenNoMore();
  }

  async #append(task: DurableTask): Promise<void> {
    const { publications, now, wait } = this.#parts;
    for (const [index, ids] of durablePieces(task.minions).entries()) {
      if (index > 0) await wait(PIECE_PAUSE_MS, this.#stop.signal);
      if (task.kind === 'ask') {
        await publications.appendJob(questionOf(task, ids, now()));
        this.#stats.asked += ids.length;
      } else {
        const slot = `durable-${task.requestId}.${task.turn}.${task.look}.${index}`;
        await publications.appendAgain(repetitionOf(task, ids, now()), { slot });
        this.#stats.sentAgain += ids.length;
      }
    }
  }

  /** Drops log-ins that the store has taken, but keeps newer ones. */
  #forget(noted: ReadonlyMap<string, number>): void {
    for (const [id, at] of noted) if (this.#loggedIn.get(id) === at) this.#loggedIn.delete(id);
  }

  /** Unique to this publisher: no worker makes jids with a suffix. */
  #probeJid(): string {
    return `${this.#jids.next(this.#parts.now())}_${this.#mark}`;
  }

  #either(): AbortSignal {
    return AbortSignal.any([this.#stop.signal, this.#wake.signal]);
  }

  #listen(): void {
    if (this.#logIns !== undefined || this.#stop.signal.aborted) return;
    const logIns = this.#parts.logIns();
    this.#logIns = logIns;
    const follow = async (): Promise<void> => {
      for await (const { id, atMs } of logIns) {
        if (this.#loggedIn.size < LOG_INS_MAX) this.#loggedIn.set(id, atMs);
      }
    };
    follow().catch((error: unknown) => {
      this.#parts.onTrouble('log-ins are not received', error);
      if (this.#logIns === logIns) this.#logIns = undefined;
    });
  }

  #listenNoMore(): void {
    this.#logIns?.close();
    this.#logIns = undefined;
  }
}

/** The question whether minions run a job: a hidden job, like those of a CLI. */
function questionOf(task: DurableTask, ids: readonly string[], now: number): Job {
  const { jid, probe, turn } = task;
  const minions = [...ids];
  const requestId = `ask:${task.requestId}:${turn}:${minions[0] ?? ''}`;
  const asked = {
    fun: FIND_JOB,
    arg: [jid],
    tgt: minions,
    tgtType: 'list',
    jid: probe,
    ret: '',
    user: ASKER,
  };
  const masterId = unpackMap(task.publication).get('master_id');
  const rest = mapOf(masterId === undefined ? {} : { master_id: masterId });
  return {
    jid: probe,
    minions,
    missing: [],
    hidden: true,
    host: '',
    requestId,
    piece: requestId,
    fun: FIND_JOB,
    tgt: minions,
    tgtType: 'list',
    user: ASKER,
    principal: 'brine durable',
    publication: pack(buildPublishedJob({ ...asked, rest })),
    load: pack(buildPublish(asked)),
    publishedAt: now,
    deadlineAt: now + QUESTION_DEADLINE_MS,
    notAfter: Math.min(now + NOT_AFTER_MS, task.notAfter),
  };
}

/** The same job for these minions alone. */
function repetitionOf(task: DurableTask, ids: readonly string[], now: number): Again {
  const minions = [...ids];
  return {
    jid: task.jid,
    seq: task.seq,
    notAfter: Math.min(now + NOT_AFTER_MS, task.notAfter),
    only: { minions, publication: listedFor(task.publication, minions) },
  };
}
