import { setTimeout as sleep } from 'node:timers/promises';
import type { Again, PublicationTimes, Published, Sent } from '@brine/bus/jobs';
import { type Job, publishingPart } from '@brine/job';
import type { Trouble } from '@brine/tasks';
import { nowMs } from '@brine/telemetry';
import { ZmqError } from '@brine/zmq';
import { MAX_LATER_WHEN_SENT, narrowed, RecentJobs } from './again-rule.ts';
import { messagesOf, type Sealer, type TopicRules } from './frames.ts';
import type {
  Epochs,
  Feed,
  HighWater,
  Publications,
  PublisherStatus,
  Spans,
  Subscribers,
} from './ports.ts';
import { EpochChoice, SerialClock } from './serials.ts';

/** The parts of a publisher. */
export interface PublisherPorts {
  readonly subscribers: Subscribers;
  readonly epochs: Epochs;
  readonly publications: Publications;
  readonly highWater: HighWater;
  readonly sealer: Sealer;
  readonly spans: Spans;
  /** Sends the workers the time at which a job went out. */
  readonly announceSent: (sent: Sent) => void;
  readonly topics: TopicRules;
  /** Called for a job that was not sent, because it was past its time. */
  readonly onExpired: (jid: string) => void;
  /** Called for each job that is to be sent again to unreachable minions. */
  readonly onDurable: () => void;
  /** Called for a fault that is repaired or counted here. */
  readonly onTrouble: Trouble;
}

/** A step back of the clock up to this is ignored, in microseconds. */
const CLOCK_SLACK_US = 1_000_000;
/** The high water is written once a second. */
const HIGH_WATER_SLACK_US = 2_000_000;
/** A message older than this proves nothing about the present clock, in ms. */
const FRESH_MS = 10_000;
/** Repeated jobs whose sendings are counted. */
const AGAIN_MAX = 1_000;
const KEY_RETRY_MS = 250;
const KEY_TRIES = 120;

/** True if the socket of the minions is closed, so the message itself is sound. */
function isClosed(error: unknown): boolean {
  return error instanceof ZmqError && error.code === 'SALT_ZMQ_CLOSED';
}

/** Sends the messages of PUBLICATIONS in their order to the subscribers of 4505. */
export class Publisher {
  readonly jobs = new RecentJobs();
  readonly #ports: PublisherPorts;
  readonly #serials = new SerialClock();
  readonly #choice: EpochChoice;
  readonly #startedMs = Date.now();
  #epoch = 0;
  #lastSeq = 0;
  #sent = 0;
  #sentAgain = 0;
  #expired = 0;
  #lost = 0;
  #clockRotations = 0;
  #rotating: Promise<void> | undefined;
  /** The number of repetitions of a job; only traces depend on it. */
  readonly #again = new Map<string, number>();

  constructor(ports: PublisherPorts) {
    this.#ports = ports;
    this.#choice = new EpochChoice(ports.epochs);
  }

  get status(): PublisherStatus {
    return {
      epoch: this.#epoch,
      lastSeq: this.#lastSeq,
      lastSerial: this.#serials.last,
      sent: this.#sent,
      sentAgain: this.#sentAgain,
      expired: this.#expired,
      lost: this.#lost,
      clockRotations: this.#clockRotations,
    };
  }

  /**
   * Returns the sequence to read from: the first message stored since `sinceMs`. Restores the
   * serial and the AES key in force there from earlier messages. Begins a new AES key if serials
   * would go back: the clock went back, and the stream was lost.
   */
  async seed(readTimes: () => Promise<PublicationTimes>, sinceMs: number): Promise<number> {
    const { times, lastSeq } = await readTimes();
    const startSeq = times.find(({ timeUs }) => timeUs >= sinceMs * 1000)?.seq ?? lastSeq + 1;
    const earlier = times.filter(({ seq }) => seq < startSeq);
    for (const time of earlier) passOver(this.#serials, time);
    const { epochs, highWater } = this.#ports;
    const epoch = epochs.epochAt(startSeq);
    this.#choice.seed(epoch, times);
    await this.#useEpoch(epoch);
    const given = await highWater.read(this.#epoch);
    // Another publisher may have sent messages that were stored since the first look.
    if (isAhead(given, times) && isAhead(given, (await readTimes()).times)) {
      await this.#rotate('the clock went back and the stream was lost');
    }
    return startSeq;
  }

  /** Sends until the feed ends. Other publishers then send the rest. */
  async run(feed: Feed, signal?: AbortSignal): Promise<void> {
    const isOver = (): boolean => signal?.aborted === true;
    for await (const published of feed) {
      if (isOver()) return;
      try {
        await this.#take(published);
      } catch (error) {
        // Stopped in the middle of a message: another publisher sends it too.
        if (isOver() || isClosed(error)) throw error;
        this.#lost += 1;
        published.failed(error);
      }
      this.#lastSeq = published.seq;
    }
  }

  async #take(published: Published): Promise<void> {
    const startMs = nowMs();
    if (published.kind === 'marker') {
      this.#serials.newKey(published.timeUs);
      // A marker of a missing key leaves the one before it in force.
      await this.#useEpoch(published.marker.epoch);
      this.#choice.marker(published.marker.epoch);
      return;
    }
    this.#watchClock(published.timeUs);
    const serial = this.#serials.next(published.timeUs);
    const epoch = this.#choice.of(published, serial);
    if (epoch !== this.#epoch) await this.#useEpoch(epoch);
    if (published.kind === 'again' && this.#isForgotten(published.again)) return;
    if (published.kind === 'again') {
      const { again } = published;
      const job = await this.#jobOf(again);
      if (job === undefined) return;
      const { notAfter } = again;
      const before = this.#countAgain(job.jid);
      const sent = await this.#send({ kind: 'again', job, serial, notAfter, startMs, before });
      if (sent) this.#sentAgain += 1;
      return;
    }
    const { job } = published;
    this.jobs.note(job, published.seq, published.timeUs);
    if (job.durable === true) this.#ports.onDurable();
    const { notAfter } = job;
    const sent = await this.#send({ kind: 'publish', job, serial, notAfter, startMs, before: 0 });
    // An earlier publisher may have sent a job that was stored before this one started.
    const isOurs = published.timeUs / 1000 > this.#startedMs;
    if (!sent && isOurs && Date.now() > notAfter) this.#ports.onExpired(job.jid);
  }

  async #send(sending: Sending): Promise<boolean> {
    const { job, serial } = sending;
    if (Date.now() > sending.notAfter) {
      this.#expired += 1;
      return false;
    }
    let frame: Buffer;
    try {
      frame = this.#ports.sealer.frame(job.publication, serial);
    } catch (error) {
      // A publication that is no map was not stored by a worker. The next ones must go out.
      this.#lost += 1;
      this.#ports.onTrouble(`publication ${job.jid} can not be sealed`, error);
      return false;
    }
    let copies = 0;
    // A minion may have it from now on; the last of many gets it later.
    const sentMs = nowMs();
    for (const message of messagesOf(frame, job, this.#ports.topics)) {
      await this.#ports.subscribers.send(message);
      copies += 1;
    }
    this.#sent += 1;
    this.#ports.highWater.note(this.#epoch, serial);
    this.#trace(sending, sentMs, { 'brine.serial': serial, 'brine.copies': copies });
    return true;
  }

  /** The worker that gets the return derives the minion's part of the trace from this time. */
  #trace(
    { kind, job, startMs, before }: Sending,
    sentMs: number,
    attributes: Readonly<Record<string, number>>,
  ): void {
    const { jid, piece, minions } = job;
    const { spans } = this.#ports;
    if (!spans.traces(jid)) return;
    const expected = { minions: minions.length, ...(piece === undefined ? {} : { piece }) };
    const ids = piece === undefined ? {} : { ids: minions };
    this.#ports.announceSent({ jid, sentMs, before, ...expected, ...ids });
    const name = kind === 'publish' ? 'publish' : `again.${before}`;
    spans.recordSpan({
      name: kind === 'publish' ? 'publish' : 'publish again',
      jid,
      part: publishingPart(name, piece),
      parentPart: publishingPart('record', piece),
      startMs,
      endMs: nowMs(),
      // The beginning of a minion's part.
      attributes: { ...attributes, 'brine.sent_after_us': Math.round((sentMs - startMs) * 1000) },
    });
  }

  /** True if so many jobs followed that a minion that ran it would run it again. */
  #isForgotten({ only, seq }: Again): boolean {
    const isForgotten = only === undefined && this.jobs.later(seq) >= MAX_LATER_WHEN_SENT;
    if (isForgotten) this.#expired += 1;
    return isForgotten;
  }

  #countAgain(jid: string): number {
    if (this.#again.size >= AGAIN_MAX) this.#again.clear();
    const count = (this.#again.get(jid) ?? 0) + 1;
    this.#again.set(jid, count);
    return count;
  }

  async #jobOf({ jid, seq, only, waiting }: Again): Promise<Sending['job'] | undefined> {
    if (only !== undefined) return { jid, tgtType: 'list', ...only };
    try {
      const job = await this.#ports.publications.storedJob(seq);
      // A stream that was lost or restored has given the number to another job.
      if (job.jid !== jid) throw new Error(`in its place is job ${job.jid}`);
      return waiting === undefined ? job : narrowed(job, waiting);
    } catch (error) {
      this.#lost += 1;
      this.#ports.onTrouble(`publication ${String(seq)} can not be sent again`, error);
      return undefined;
    }
  }

  /** Waits for the key: no minion can open a frame that another key sealed. */
  async #useEpoch(epoch: number): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        const { keyString } = await this.#ports.epochs.keyOf(epoch);
        this.#epoch = epoch;
        this.#ports.sealer.useKey(keyString);
        return;
      } catch (error) {
        if (tries === KEY_TRIES) throw error;
        if (tries === 1) this.#ports.onTrouble(`no AES key of epoch ${String(epoch)} yet`, error);
        await sleep(KEY_RETRY_MS);
      }
    }
  }

  /** Serials rise while a process runs, but a process started later would begin lower. */
  #watchClock(timeUs: number): void {
    const fresh = Math.abs(Date.now() - timeUs / 1000) < FRESH_MS;
    if (fresh && timeUs + CLOCK_SLACK_US < this.#serials.last) {
      void this.#rotate('the clock of the stream went back');
    }
  }

  #rotate(why: string): Promise<void> {
    this.#rotating ??= this.#ports.epochs
      .rotate()
      .then(
        () => {
          this.#clockRotations += 1;
          this.#ports.onTrouble('a new AES key begins', why);
        },
        (error: unknown) => this.#ports.onTrouble('no new AES key', error),
      )
      .finally(() => {
        this.#rotating = undefined;
      });
    return this.#rotating;
  }
}

/** Advances the serials as the publisher that sent a message of the stream did. */
function passOver(serials: SerialClock, { kind, timeUs }: PublicationTimes['times'][number]): void {
  serials.next(timeUs);
  if (kind === 'marker') serials.newKey(timeUs);
}

/** True if a serial was given that neither the stream nor the time can explain. */
function isAhead(given: number, times: PublicationTimes['times']): boolean {
  const serials = new SerialClock();
  for (const time of times) passOver(serials, time);
  const next = Math.max(serials.last, Date.now() * 1000);
  return given > serials.last && given + HIGH_WATER_SLACK_US > next;
}

/** A sending of a job. */
interface Sending {
  readonly kind: 'publish' | 'again';
  readonly job: Pick<Job, 'jid' | 'publication' | 'tgtType' | 'minions' | 'piece'>;
  readonly serial: number;
  readonly notAfter: number;
  /** When the publisher began with the message of the stream. */
  readonly startMs: number;
  /** The number of earlier sendings. */
  readonly before: number;
}
