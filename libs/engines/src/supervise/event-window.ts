import { Wakeup } from '@brine/tasks';
import { LIMITS } from '../protocol.ts';

/** An event that an engine has not processed. */
interface Pending {
  readonly position: string;
  readonly bytes: number;
  isDone: boolean;
}

/**
 * The unprocessed events of an engine. Bounds their number, and knows the position up to which all
 * are processed.
 */
export class EventWindow {
  readonly #pending = new Map<number, Pending>();
  #first = 1;
  #next = 1;
  #bytes = 0;
  #position: string | undefined;
  readonly #room = new Wakeup();

  /** Everything up to this position is processed; undefined before the first event is. */
  get position(): string | undefined {
    return this.#position;
  }

  /** Number of unprocessed events. */
  get size(): number {
    return this.#pending.size;
  }

  /** True if the engine may receive one more. */
  get hasRoom(): boolean {
    return this.size < LIMITS.events && this.#bytes < LIMITS.eventBytes;
  }

  /** Assigns a number to an event. */
  add(position: string, bytes: number): number {
    const number = this.#next;
    this.#next += 1;
    this.#bytes += bytes;
    this.#pending.set(number, { position, bytes, isDone: false });
    return number;
  }

  /** Skips an event: it is processed as soon as those before it are. */
  pass(position: string): void {
    if (this.#pending.size === 0) this.#position = position;
    else this.done(this.add(position, 0));
  }

  /** Marks an event as processed. Ignores unknown numbers. */
  done(number: number): void {
    const pending = this.#pending.get(number);
    if (pending === undefined || pending.isDone) return;
    pending.isDone = true;
    this.#bytes -= pending.bytes;
    for (;;) {
      const first = this.#pending.get(this.#first);
      if (first?.isDone !== true) break;
      this.#pending.delete(this.#first);
      this.#first += 1;
      this.#position = first.position;
    }
    if (this.hasRoom) this.#room.wake();
  }

  /** Resolves when there is room, which may be at once. */
  async room(signal: AbortSignal): Promise<void> {
    if (this.hasRoom) return;
    const onAbort = (): void => this.#room.wake();
    signal.addEventListener('abort', onAbort);
    while (!this.hasRoom && !signal.aborted) await this.#room.wait();
    signal.removeEventListener('abort', onAbort);
  }
}
