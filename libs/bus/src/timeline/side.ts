import { setTimeout as sleep } from 'node:timers/promises';
import type { EventKind } from '@brine/job';
import { asError, BusError } from '../connection/errors.ts';
import type { Received, StreamReader } from '../streams/stream-reader.ts';
import type { Place } from './position.ts';

/** An event of one side, without its position in the bus. */
export interface SideEvent {
  readonly kind: EventKind;
  readonly tag: string;
  readonly jid: string | undefined;
  readonly minion: string | undefined;
  /** A W3C traceparent that the sender gave. */
  readonly link: string | undefined;
  /** The size of the body in the stream, in bytes. */
  readonly size: number;
  readonly body: () => Promise<Uint8Array>;
}

/** A step through a stream: after it, everything up to `place` was passed. */
export interface Step {
  readonly place: Place;
  /** When the stream stored it, in microseconds since 1970. */
  readonly timeUs: number;
  /** When the stream was made. */
  readonly incarnation: string;
  /** When it came here, by the monotonic clock. */
  readonly cameAt: number;
  /** Undefined if the step passes over an event that is not wanted or can not be read. */
  readonly event: SideEvent | undefined;
}

/** The wanted events of one message, each with its index, and how many it has. */
export interface ReadMessage {
  readonly events: readonly { readonly index: number; readonly event: SideEvent }[];
  readonly count: number;
}

/** Where and how a side reads. */
export interface SideOptions {
  readonly reader: StreamReader;
  /** Everything up to this place was read already. */
  readonly after: Place;
  /** Rejects while the message can not be read: it is retried unless that is permanent. */
  readonly read: (received: Received) => Promise<ReadMessage> | ReadMessage;
  /** A message was skipped because it can never be read. */
  readonly onUnreadable: (error: unknown) => void;
  /** Something came, or the reading ended. */
  readonly onNews: () => void;
}

/** Sequences from `from` up to, but not including, `to`. */
export interface Jump {
  readonly from: number;
  readonly to: number;
}

/** Messages that are taken at once. */
const TAKEN_AT_ONCE = 64;
/** Steps that wait to be taken; beyond it the stream is not read. A page has 255 events. */
const WAITING_MAX = 1_024;
const RETRY_MS = 500;

/** A stream of the bus, read ahead of its user by a bounded number of events. */
export class Side {
  readonly #options: SideOptions;
  #steps: Step[] = [];
  #next = 0;
  #isAtWork = false;
  #roomWanted: (() => void) | undefined;
  #jump: Jump | undefined;
  #lastSeq: number | undefined;
  #failure: Error | undefined;
  #isClosed = false;

  constructor(options: SideOptions) {
    this.#options = options;
    this.#run()
      .catch((error: unknown) => {
        this.#failure = asError(error);
      })
      .finally(() => {
        this.#isClosed = true;
        options.onNews();
      });
  }

  /** The step that is taken next. */
  get head(): Step | undefined {
    return this.#steps[this.#next];
  }

  /** True if all messages that the stream has now were taken. */
  get isEven(): boolean {
    const { reader } = this.#options;
    return reader.caughtUp && reader.waiting === 0 && !this.#isAtWork && this.head === undefined;
  }

  /** The error that ended the reading. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Sequences that this reader did not see, although it may have been behind. */
  get jump(): Jump | undefined {
    return this.#jump;
  }

  /** As {@link jump}, once. */
  takeJump(): Jump | undefined {
    const jump = this.#jump;
    this.#jump = undefined;
    return jump;
  }

  /** Takes the head. */
  take(): void {
    this.#next += 1;
    if (this.#next < this.#steps.length) return;
    this.#steps = [];
    this.#next = 0;
    this.#roomWanted?.();
  }

  close(): void {
    this.#isClosed = true;
    this.#options.reader.close();
    this.#roomWanted?.();
  }

  async #run(): Promise<void> {
    const { reader, onNews } = this.#options;
    for (;;) {
      this.#isAtWork = false;
      const batch = await reader.take(TAKEN_AT_ONCE);
      if (batch.length === 0) return;
      this.#isAtWork = true;
      for (const received of batch) {
        await this.#add(received);
        if (this.#isClosed) return;
        onNews();
        if (this.#steps.length >= WAITING_MAX) await this.#room();
      }
    }
  }

  /** Unwanted kinds leave gaps too; the stream's first sequence shows the difference. */
  #noteJump({ seq, followsOn }: Received): void {
    const last = this.#lastSeq;
    this.#lastSeq = seq;
    // Only old messages are trimmed, so a reader that has caught up can not be overtaken.
    if (last === undefined || followsOn || seq <= last + 1) return;
    this.#jump = { from: this.#jump?.from ?? last + 1, to: seq };
  }

  async #add(received: Received): Promise<void> {
    const { seq, timeUs, incarnation } = received;
    this.#noteJump(received);
    const cameAt = performance.now();
    const step = (place: Place, event: SideEvent | undefined): void => {
      this.#push({ place, timeUs, incarnation, cameAt, event });
    };
    const { events, count } = await this.#read(received);
    const { after } = this.#options;
    const readBefore = after.seq === seq ? (after.index ?? Infinity) : -1;
    const isFirst = this.#options.reader.resets === 0;
    for (const { index, event } of events) {
      // The rest of a message that was partly read before.
      if (isFirst && index <= readBefore) continue;
      step(index === count - 1 ? { seq } : { seq, index }, event);
    }
    if (events.at(-1)?.index !== count - 1) step({ seq }, undefined);
  }

  /** Steps without an event are merged: a search may skip millions. */
  #push(step: Step): void {
    const last = this.#steps.length - 1;
    const isPass = step.event === undefined && this.#steps[last]?.event === undefined;
    if (isPass && last >= this.#next) this.#steps[last] = step;
    else this.#steps.push(step);
  }

  async #read(received: Received): Promise<ReadMessage> {
    while (!this.#isClosed) {
      try {
        return await this.#options.read(received);
      } catch (error) {
        if (hasEnded(error)) throw error;
        if (isForGood(error)) {
          this.#options.onUnreadable(error);
          break;
        }
        await sleep(RETRY_MS);
      }
    }
    return { events: [], count: 1 };
  }

  async #room(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#roomWanted = resolve;
      if (this.#isClosed) resolve();
    });
    this.#roomWanted = undefined;
  }
}

/** True if a message can never be read. Any other error of the bus may be an outage. */
function isForGood(error: unknown): boolean {
  if (!(error instanceof BusError)) return true;
  const { code } = error;
  return code === 'BUS_BAD_MESSAGE' || code === 'BUS_BODY_GONE' || code === 'BUS_BODY_TOO_LARGE';
}

/** True if nothing more can be read. */
function hasEnded(error: unknown): boolean {
  return (
    error instanceof BusError && (error.code === 'BUS_CLOSED' || error.code === 'BUS_FORBIDDEN')
  );
}
