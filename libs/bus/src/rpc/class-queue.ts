import type { RequestClass } from '../subjects/names.ts';
import type { RequestHead } from './request-frame.ts';
import type { ClassLoad } from './worker-board.ts';

/** A request that a worker has. */
export interface QueuedRequest {
  readonly gateway: string;
  readonly slot: string;
  /** Gateway and slot, joined: unique among the requests in flight. */
  readonly key: string;
  readonly cls: RequestClass;
  readonly head: RequestHead;
  readonly body: Uint8Array;
  cancelled: boolean;
  started: boolean;
  /** Answered, or given up. */
  done: boolean;
}

/** The places of one class in a worker, to run and to wait. */
export class ClassQueue {
  readonly #concurrency: number;
  readonly #room: number;
  readonly #work: (queued: QueuedRequest) => void;
  #waiting: QueuedRequest[] = [];
  #head = 0;
  #running = 0;
  #isStarting = false;
  /** Requests at work that occupy no place. */
  readonly #waitingElsewhere = new Set<QueuedRequest>();

  /** `work` begins a request; call {@link finished} when it ends. */
  constructor(concurrency: number, queue: number, work: (queued: QueuedRequest) => void) {
    this.#concurrency = concurrency;
    this.#room = concurrency + queue;
    this.#work = work;
  }

  get running(): number {
    return this.#running;
  }

  get hand(): number {
    return this.#running + this.#waiting.length - this.#head;
  }

  get load(): ClassLoad {
    return { hand: this.hand, room: this.#room, concurrency: this.#concurrency };
  }

  /** Accepts a request if there is room; {@link next} starts it. */
  push(queued: QueuedRequest): boolean {
    if (this.hand >= this.#room) return false;
    this.#waiting.push(queued);
    return true;
  }

  /** Starts as many requests as there are places. */
  next(): void {
    // A request that ends without waiting comes back here; the loop below starts the next.
    if (this.#isStarting) return;
    this.#isStarting = true;
    try {
      while (this.#running < this.#concurrency) {
        const queued = this.#shift();
        if (queued === undefined) return;
        this.#running++;
        this.#work(queued);
      }
    } finally {
      this.#isStarting = false;
    }
  }

  /** Frees the place of a request that has ended. */
  finished(queued: QueuedRequest): void {
    if (!this.#waitingElsewhere.delete(queued)) this.#running--;
    this.next();
  }

  /** Frees the place of a request that is still at work. */
  stepAside(queued: QueuedRequest): void {
    if (!queued.started || queued.done || this.#waitingElsewhere.has(queued)) return;
    this.#waitingElsewhere.add(queued);
    this.#running--;
    this.next();
  }

  #shift(): QueuedRequest | undefined {
    const queued = this.#waiting[this.#head];
    if (queued === undefined) return undefined;
    this.#head++;
    if (this.#head > 64 && this.#head * 2 > this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#head);
      this.#head = 0;
    }
    return queued;
  }
}
