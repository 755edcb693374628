import { Wakeup } from '@brine/tasks';
import { LIMITS } from '../protocol.ts';

/** An event that an engine has and is not done with. */
interface Pending {
  readonly position: string;
  readonly bytes: number;
  isDone: boolean;
}

/**
 * The events that an engine has in hand. It bounds them, and says how far the engine has come: up
 * to the first event that is not done.
 */
export class EventWindow {
  readonly #pending = new Map<number, Pending>();
  #first = 1;
  #next = 1;
  #bytes = 0;
  #position: string | undefined;
  readonly #room = new Wakeup();

  /** Everything up to this position is done; undefined before the first event is. */
  get position(): string | undefined {
    return this.#position;
  }

  /** Events that are not done. */
  get size(): number {
    return this.#pending.size;
  }

  /** Whether the engine may have one more. */
  get hasRoom(): boolean {
    return this.size < LIMITS.events && this.#bytes < LIMITS.eventBytes;
  }

  /** Gives an event its number. */
  add(position: string, bytes: number): number {
    const number = this.#next;
    this.#next += 1;
    this.#bytes += bytes;
    this.#pending.set(number, { position, bytes, isDone: false });
    return number;
  }

  /** An event without interest was passed: it is done as soon as those before it are. */
  pass(position: string): void {
    if (this.#pending.size === 0) this.#position = position;
    else this.done(this.add(position, 0));
  }

  /** The engine is done with an event. Unknown numbers are left alone. */
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

  /** Resolves when there is room; at once where there is. */
  async room(signal: AbortSignal): Promise<void> {
    if (this.hasRoom) return;
    const onAbort = (): void => this.#room.wake();
    signal.addEventListener('abort', onAbort);
    while (!this.hasRoom && !signal.aborted) await this.#room.wait();
    signal.removeEventListener('abort', onAbort);
  }
}
