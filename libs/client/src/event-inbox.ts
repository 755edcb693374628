import { Wakeup } from '@brine/tasks';
import { isMap, type SaltMap, unpack } from '@brine/wire';

/** An event that a client waits for. */
export interface ClientEvent {
  readonly tag: string;
  readonly data: SaltMap;
}

interface PackedEvent {
  readonly tag: string;
  readonly packed: Uint8Array;
}

// Maximum of events kept before the answer to a publish, since they may belong to its job. One job
// can not cause more in that time.
const MAX_EARLY_EVENTS = 100_000;

/** The events of one wait, in their order. */
export class EventQueue {
  readonly #inbox: EventInbox;
  readonly #queue: ClientEvent[] = [];
  readonly #wanted: ((tag: string) => boolean)[] = [];
  #early: PackedEvent[] = [];
  #unanswered = 0;
  readonly #news = new Wakeup();

  constructor(inbox: EventInbox) {
    this.#inbox = inbox;
  }

  /** Keeps every event until the publish that is sent now is answered. */
  keepAll(): void {
    this.#unanswered += 1;
  }

  /** Ends `keepAll`. Of kept and later events, only those with wanted tags are taken. */
  keepWanted(wanted?: (tag: string) => boolean): void {
    if (wanted !== undefined) this.#wanted.push(wanted);
    this.#unanswered -= 1;
    if (this.#unanswered > 0) return;
    const early = this.#early;
    this.#early = [];
    for (const event of early) this.take(event);
  }

  /** Takes an event from the inbox. */
  take(event: PackedEvent): void {
    if (this.#unanswered > 0) {
      if (this.#early.length < MAX_EARLY_EVENTS) this.#early.push(event);
      return;
    }
    if (!this.#wanted.some((wants) => wants(event.tag))) return;
    const data = unpack(event.packed);
    if (!isMap(data)) return;
    this.#queue.push({ tag: event.tag, data });
    this.#news.wake();
  }

  /** The next event, or undefined when `untilMs` (unix milliseconds) has passed. */
  async next(untilMs: number): Promise<ClientEvent | undefined> {
    for (;;) {
      const ready = this.#queue.shift();
      if (ready !== undefined) return ready;
      const waitMs = untilMs - Date.now();
      if (waitMs <= 0) return undefined;
      await this.#news.wait(waitMs);
    }
  }

  /** Ends the queue: the inbox keeps no more events for it. */
  close(): void {
    this.#inbox.forget(this);
  }
}

/** Hands the events of one connection to the waits that want them. */
export class EventInbox {
  readonly #queues = new Set<EventQueue>();

  /** Takes an event from the socket. */
  readonly take = (tag: string, packed: Uint8Array): void => {
    for (const queue of this.#queues) queue.take({ tag, packed });
  };

  /** A queue for one wait. The caller closes it. */
  open(): EventQueue {
    const queue = new EventQueue(this);
    this.#queues.add(queue);
    return queue;
  }

  /** Removes a queue. */
  forget(queue: EventQueue): void {
    this.#queues.delete(queue);
  }
}
