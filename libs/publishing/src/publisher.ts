import type { Again, PublicationTimes, Published, Sent } from '@brine/bus/jobs';
import { type Job, publishingPart } from '@brine/job';
import { nowMs } from '@brine/telemetry';
import { ZmqError } from '@brine/zmq';
import { MAX_LATER_WHEN_SENT } from './again-rule.ts';
import { EpochChoice } from './epoch-choice.ts';
import { narrowed } from './listed.ts';
import type {
  Epochs,
  Feed,
  HighWater,
  Publications,
  PublisherStatus,
  Spans,
  Subscribers,
} from './ports.ts';
import { RecentJobs } from './recent-jobs.ts';
import type { Sealer } from './sealer.ts';
import { SerialClock } from './serial-clock.ts';
import { messagesOf, type TopicRules } from './topics.ts';

/** What a publisher works with. */
export interface PublisherPorts {
  readonly subscribers: Subscribers;
  readonly epochs: Epochs;
  readonly publications: Publications;
  readonly highWater: HighWater;
  readonly sealer: Sealer;
  readonly spans: Spans;
  /** Tells the workers that a job went out. */
  readonly tellSent: (sent: Sent) => void;
  readonly topics: TopicRules;
  /** Told of a job that was past its time and went out to nobody from here. */
  readonly onExpired: (jid: string) => void;
  /** Called for each job that is to be sent again to minions that are away. */
  readonly onDurable: () => void;
  /** Told of what went wrong and is mended or counted here. */
  readonly onTrouble: (what: string, error: unknown) => void;
}

/** A clock may be stepped back so far without anybody taking notice, in microseconds. */
const CLOCK_SLACK_US = 1_000_000;
/** The high water is written once a second. */
const HIGH_WATER_SLACK_US = 2_000_000;
/** What was stored longer ago than this says nothing about the clock now, in ms. */
const FRESH_MS = 10_000;
/** Jobs sent again that are counted one by one. */
const AGAIN_MAX = 1_000;
const KEY_RETRY_MS = 250;
const KEY_TRIES = 120;

/** Whether the socket of the minions is closed, which is no fault of what was to be sent. */
function isClosed(error: unknown): boolean {
  return error instanceof ZmqError && error.code === 'SALT_ZMQ_CLOSED';
}

/** Sends what PUBLICATIONS says, in its order, to the subscribers of 4505. */
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
  /** How often jobs were sent again; only traces depend on it. */
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
   * Comes to the serial and the AES key that hold at `startSeq`, from what was stored before it.
   * Begins a new AES key where serials would else go back: the clock has, and the stream was lost.
   */
  async seed(before: PublicationTimes['times'], startSeq: number): Promise<void> {
    for (const { seq, kind, timeUs } of before) {
      if (seq >= startSeq) break;
      this.#serials.next(timeUs);
      if (kind === 'marker') this.#serials.newKey(timeUs);
    }
    const { epochs, highWater } = this.#ports;
    const epoch = epochs.epochAt(startSeq);
    this.#choice.seed(epoch, before);
    await this.#useEpoch(epoch);
    const newest = Math.max(before.at(-1)?.timeUs ?? 0, this.#serials.last);
    const given = await highWater.read(this.#epoch);
    const next = Math.max(newest, Date.now() * 1000);
    if (given > 0 && given + HIGH_WATER_SLACK_US > next && given > newest) {
      await this.#rotate('the clock went back and the stream was lost');
    }
  }

  /** Sends until the feed ends; what is left in it then is for others. */
  async run(feed: Feed, signal?: AbortSignal): Promise<void> {
    const isOver = (): boolean => signal?.aborted === true;
    for await (const published of feed) {
      if (isOver()) return;
      try {
        await this.#take(published);
      } catch (error) {
        // Cut off in the midst of it: another publisher sends it too.
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
      // A marker of a key that is not there leaves the one before it in force.
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
      const before = this.#countAgain(job.jid);
      const sending = { kind: 'again', startMs, before } as const;
      const sent = await this.#send(job, serial, again.notAfter, sending);
      if (sent) this.#sentAgain += 1;
      return;
    }
    const { job } = published;
    this.jobs.note(job, published.seq, published.timeUs);
    if (job.durable === true) this.#ports.onDurable();
    const sending = { kind: 'publish', startMs, before: 0 } as const;
    const sent = await this.#send(job, serial, job.notAfter, sending);
    // What was stored before our start an earlier publisher may have sent.
    const isOurs = published.timeUs / 1000 > this.#startedMs;
    if (!sent && isOurs && Date.now() > job.notAfter) this.#ports.onExpired(job.jid);
  }

  async #send(job: Sendable, serial: number, notAfter: number, sending: Sending): Promise<boolean> {
    if (Date.now() > notAfter) {
      this.#expired += 1;
      return false;
    }
    let frame: Buffer;
    try {
      frame = this.#ports.sealer.frame(job.publication, serial);
    } catch (error) {
      // A publication that is no map: nothing a worker of ours stored. The next ones must go out.
      this.#lost += 1;
      this.#ports.onTrouble(`publication ${job.jid} can not be sealed`, error);
      return false;
    }
    let copies = 0;
    // The moment from which a minion may have it; the last of many gets it later.
    const sentMs = nowMs();
    for (const message of messagesOf(frame, job, this.#ports.topics)) {
      await this.#ports.subscribers.send(message);
      copies += 1;
    }
    this.#sent += 1;
    this.#ports.highWater.note(this.#epoch, serial);
    this.#trace(job, sending, sentMs, { 'brine.serial': serial, 'brine.copies': copies });
    return true;
  }

  /** The worker that gets the return makes of the told time the minion's part of the trace. */
  #trace(
    job: Sendable,
    { kind, startMs, before }: Sending,
    sentMs: number,
    attributes: Readonly<Record<string, number>>,
  ): void {
    const { jid, piece, minions } = job;
    const { spans } = this.#ports;
    if (!spans.traces(jid)) return;
    const expected = { minions: minions.length, ...(piece === undefined ? {} : { piece }) };
    const ids = piece === undefined ? {} : { ids: minions };
    this.#ports.tellSent({ jid, sentMs, before, ...expected, ...ids });
    const name = kind === 'publish' ? 'publish' : `again.${before}`;
    spans.recordSpan({
      name: kind === 'publish' ? 'publish' : 'publish again',
      jid,
      part: publishingPart(name, piece),
      parentPart: publishingPart('record', piece),
      startMs,
      endMs: nowMs(),
      // Where a minion's part begins.
      attributes: { ...attributes, 'brine.sent_after_us': Math.round((sentMs - startMs) * 1000) },
    });
  }

  /** Who has run it would run it again. */
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

  async #jobOf({ jid, seq, only, waiting }: Again): Promise<Sendable | undefined> {
    if (only !== undefined) return { jid, tgtType: 'list', ...only };
    try {
      const job = await this.#ports.publications.storedJob(seq);
      // A stream that was lost or put back has given the number to another job.
      if (job.jid !== jid) throw new Error(`in its place is job ${job.jid}`);
      return waiting === undefined ? job : narrowed(job, waiting);
    } catch (error) {
      this.#lost += 1;
      this.#ports.onTrouble(`publication ${String(seq)} can not be sent again`, error);
      return undefined;
    }
  }

  /** Nothing is sent before the key is here: sealed with another it would reach nobody. */
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
        await new Promise((resolve) => setTimeout(resolve, KEY_RETRY_MS));
      }
    }
  }

  /** While it runs, serials can not go back; but a process that starts later could not know. */
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

/** A sending of one job, for its trace. */
export interface Sending {
  readonly kind: 'publish' | 'again';
  /** When the message was taken in hand. */
  readonly startMs: number;
  /** How often it was sent before. */
  readonly before: number;
}

/** What of a job is needed to send it. */
export type Sendable = Pick<Job, 'jid' | 'publication' | 'tgtType' | 'minions' | 'piece'>;
