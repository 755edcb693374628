/** A timeout that is set; clear it when the event has come. */
export interface WheelTimer {
  readonly clear: () => void;
}

interface Entry extends WheelTimer {
  readonly fire: () => void;
  readonly turn: number;
}

const SLOTS = 512;

/**
 * Thousands of timeouts on one timer; each is late by up to one tick. A Node timer for each request
 * costs more than the request itself.
 *
 * If it is late, sockets are read before a timeout fires. A process that had no processor for a
 * while finds its timers due and the answers unread, and Node runs timers first: each answer would
 * be too late.
 */
export class TimerWheel {
  readonly #tickMs: number;
  readonly #slots: Set<Entry>[] = Array.from({ length: SLOTS }, () => new Set<Entry>());
  #tick = 0;
  #size = 0;
  #startedAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #isReading = false;

  constructor(tickMs = 50) {
    this.#tickMs = tickMs;
  }

  /** How many timeouts are set. */
  get size(): number {
    return this.#size;
  }

  /** Calls `fire` once after `delayMs` (at least one tick), unless cleared before. */
  set(delayMs: number, fire: () => void): WheelTimer {
    this.#start();
    const at = performance.now() - this.#startedAt + Math.max(0, delayMs);
    const turn = Math.max(this.#tick + 1, Math.ceil(at / this.#tickMs));
    const slot = this.#slot(turn);
    const entry: Entry = { fire, turn, clear: () => this.#remove(slot, entry) };
    slot.add(entry);
    this.#size++;
    return entry;
  }

  /** Clears every timeout and stops the timer. */
  close(): void {
    for (const slot of this.#slots) slot.clear();
    this.#size = 0;
    this.#stop();
  }

  #slot(turn: number): Set<Entry> {
    const slot = this.#slots[turn % SLOTS];
    if (slot === undefined) throw new RangeError(`no slot for turn ${turn}`);
    return slot;
  }

  #remove(slot: Set<Entry>, entry: Entry): void {
    if (!slot.delete(entry)) return;
    this.#size--;
    // An idle wheel keeps turning until its next tick; that tick stops it.
  }

  #start(): void {
    if (this.#timer !== undefined) return;
    this.#startedAt = performance.now();
    this.#tick = 0;
    this.#timer = setInterval(() => this.#readFirst(), this.#tickMs);
    this.#timer.unref();
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** If it is late, turns once the loop has read the sockets: immediates run right after that. */
  #readFirst(): void {
    if (this.#isReading) return;
    const lateMs = performance.now() - this.#startedAt - (this.#tick + 1) * this.#tickMs;
    if (lateMs < this.#tickMs) return this.#turn();
    this.#isReading = true;
    setImmediate(() => {
      this.#isReading = false;
      if (this.#timer !== undefined) this.#turn();
    });
  }

  #turn(): void {
    const until = Math.floor((performance.now() - this.#startedAt) / this.#tickMs);
    // After a long stop of the process each slot needs one visit at most.
    const from = Math.max(this.#tick + 1, until - SLOTS + 1);
    this.#tick = Math.max(this.#tick, until);
    for (let turn = from; turn <= until; turn++) this.#visit(this.#slot(turn), until);
    if (this.#size === 0) this.#stop();
  }

  #visit(slot: Set<Entry>, until: number): void {
    for (const entry of slot) {
      if (entry.turn > until) continue;
      this.#remove(slot, entry);
      entry.fire();
    }
  }
}
