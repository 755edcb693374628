import type { Sent } from '@brine/bus/jobs';
import { publishingPart } from '@brine/job';
import type { ReturnToTrace } from '@brine/master';
import { isChosen, type ReturnSampling, type SpanRecord, TRACE_NOTE_MAX } from '@brine/telemetry';
import { LeftOut } from './left-out.ts';

/** The connections of {@link JobTraces} to its worker. */
export interface JobTracesPorts {
  readonly sampling: ReturnSampling;
  /** True for a job that is traced. */
  readonly traces: (jid: string) => boolean;
  readonly record: (span: SpanRecord) => void;
  /** Names this process in spans. */
  readonly processId: string;
  readonly now: () => number;
}

/** A minion's part that waits for the publisher's report of the sending. */
interface WaitingPart {
  readonly minion: string;
  readonly receivedMs: number;
  readonly sinceMs: number;
}

/** The sending that a minion's part begins with. */
interface Sending {
  readonly sentMs: number;
  readonly piece: string | undefined;
}

/** A job whose returns come in. */
interface JobTrace {
  readonly jid: string;
  readonly traced: boolean;
  sending: Sending | undefined;
  /** Only for a job in pieces: the sending of each minion. */
  pieces: Map<string, Sending> | undefined;
  /** How often it was sent again, as known to this worker. */
  again: number;
  first: number;
  failed: number;
  slow: number;
  slowestMs: number;
  waiting: WaitingPart[];
  readonly leftOut: LeftOut;
}

/** Jobs known at once; the sending times of older ones are forgotten. */
const JOBS_MAX = 2_000;
/** Minions of the pieces of one job. */
const PIECE_MINIONS_MAX = 10_000;
/** Parts of one job that wait for the publisher's report, and for how long. */
const WAITING_MAX = 256;
const WAITING_MS = 1_000;
/** A return is slow if it took longer than any recorded before it by this factor. */
const SLOW_FACTOR = 1.5;
const SLOW_MAX = 32;

/**
 * Decides which returns are traced. Records the part that happens on the minion: from the
 * publisher's handing over of the publication to the arrival of the return at the gateway. Both
 * ends are measured; nothing is derived from what other spans leave over.
 */
export class JobTraces {
  readonly #ports: JobTracesPorts;
  readonly #jobs = new Map<string, JobTrace>();
  /** Jobs with something that waits or was left out. */
  readonly #open = new Set<JobTrace>();

  constructor(ports: JobTracesPorts) {
    this.#ports = ports;
  }

  /** Notes the sending of a job. Of several sendings of one publication the first counts. */
  sent({ jid, piece, sentMs, before, ids }: Sent): void {
    const job = this.#job(jid);
    if (!job.traced) return;
    if (before > 0) job.again = Math.max(job.again, before);
    const sending = { sentMs, piece };
    if (piece === undefined) {
      if (job.sending === undefined || sentMs < job.sending.sentMs) job.sending = sending;
    } else {
      job.pieces ??= new Map();
      for (const id of ids ?? []) {
        if (job.pieces.size >= PIECE_MINIONS_MAX) break;
        if (!job.pieces.has(id)) job.pieces.set(id, sending);
      }
    }
    for (const part of job.waiting.splice(0)) this.#minionPart(job, part);
  }

  /** Decides for each return; called once for it. */
  readonly wants = (returned: ReturnToTrace): boolean => {
    const { jid, minion, failed, receivedMs } = returned;
    const job = this.#job(jid);
    if (!job.traced || jid.length + Buffer.byteLength(minion) >= TRACE_NOTE_MAX) return false;
    const tookMs = tookOf(job, minion, receivedMs);
    const isWanted = this.#isWanted(job, minion, failed, tookMs);
    if (isWanted) job.slowestMs = Math.max(job.slowestMs, tookMs);
    else {
      job.leftOut.add(receivedMs ?? this.#ports.now(), tookMs);
      this.#open.add(job);
    }
    return isWanted;
  };

  /** Records the minion's part of a return that is traced. */
  returned(jid: string, minion: string, receivedMs: number): void {
    const job = this.#job(jid);
    const part = { minion, receivedMs, sinceMs: this.#ports.now() };
    if (sendingOf(job, minion) !== undefined || job.waiting.length >= WAITING_MAX) {
      this.#minionPart(job, part);
      return;
    }
    job.waiting.push(part);
    this.#open.add(job);
  }

  /**
   * To be called about once a second: ends waits that are over and records the returns left out.
   */
  tick(): void {
    const now = this.#ports.now();
    for (const job of this.#open) {
      while (job.waiting[0] !== undefined && job.waiting[0].sinceMs + WAITING_MS <= now) {
        const part = job.waiting.shift();
        if (part !== undefined) this.#minionPart(job, part);
      }
      if (job.leftOut.isSettled(now)) this.#recordLeftOut(job);
      if (job.waiting.length === 0 && job.leftOut.count === 0) this.#open.delete(job);
    }
  }

  /** Records everything that waits. */
  close(): void {
    for (const job of this.#open) this.#finish(job);
    this.#open.clear();
  }

  #isWanted(job: JobTrace, minion: string, failed: boolean, tookMs: number): boolean {
    const { first, failed: failedMax, ratio } = this.#ports.sampling;
    if (job.first < first) {
      job.first += 1;
      return true;
    }
    if (failed && job.failed < failedMax) {
      job.failed += 1;
      return true;
    }
    if (tookMs > job.slowestMs * SLOW_FACTOR && job.slow < SLOW_MAX) {
      job.slow += 1;
      return true;
    }
    return isChosen(`${job.jid} ${minion}`, ratio);
  }

  #minionPart(job: JobTrace, { minion, receivedMs }: WaitingPart): void {
    const sending = sendingOf(job, minion);
    const again = job.again > 0 ? job.again : undefined;
    const known = sending !== undefined;
    // A slow clock must not make a span that ends before it starts; an attribute gives the skew.
    const skew = known && receivedMs < sending.sentMs ? sending.sentMs - receivedMs : undefined;
    this.#ports.record({
      name: 'minion',
      jid: job.jid,
      part: `minion.${minion}`,
      // Only a worker that received the sending knows that its span is recorded.
      parentPart: known ? publishingPart('publish', sending.piece) : undefined,
      startMs: known ? Math.min(sending.sentMs, receivedMs) : receivedMs,
      endMs: receivedMs,
      attributes: {
        'salt.minion': minion,
        'brine.sent': known ? undefined : 'unknown',
        'brine.sent_again': again,
        'brine.clock_skew_ms': skew,
      },
    });
  }

  #job(jid: string): JobTrace {
    const known = this.#jobs.get(jid);
    if (known !== undefined) return known;
    if (this.#jobs.size >= JOBS_MAX) this.#forgetOldest();
    const job: JobTrace = {
      jid,
      traced: this.#ports.traces(jid),
      sending: undefined,
      pieces: undefined,
      again: 0,
      first: 0,
      failed: 0,
      slow: 0,
      slowestMs: 0,
      waiting: [],
      leftOut: new LeftOut(),
    };
    this.#jobs.set(jid, job);
    return job;
  }

  #forgetOldest(): void {
    for (const [jid, job] of this.#jobs) {
      this.#finish(job);
      this.#open.delete(job);
      this.#jobs.delete(jid);
      return;
    }
  }

  #finish(job: JobTrace): void {
    for (const part of job.waiting.splice(0)) this.#minionPart(job, part);
    if (job.leftOut.count > 0) this.#recordLeftOut(job);
  }

  #recordLeftOut(job: JobTrace): void {
    const { processId, record } = this.#ports;
    record(job.leftOut.take(job.jid, processId, job.sending === undefined ? undefined : 'publish'));
  }
}

function sendingOf(job: JobTrace, minion: string): Sending | undefined {
  return job.pieces?.get(minion) ?? job.sending;
}

/** Time from sending to return, in ms; 0 if either is unknown. */
function tookOf(job: JobTrace, minion: string, receivedMs: number | undefined): number {
  const sending = sendingOf(job, minion);
  return sending === undefined || receivedMs === undefined ? 0 : receivedMs - sending.sentMs;
}
