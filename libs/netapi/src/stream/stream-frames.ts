import type { Frame, FrameMaker } from '../live/frames.ts';
import type { LiveEvent } from '../live/live-events.ts';
import { messagesText } from './messages.ts';
import type { TopicPart } from './topic.ts';

/** A frame has a position at least this often, ms: a peer that comes again repeats little. */
const POSITION_MS = 1_000;

/** The frames of a stream with some topics. */
export class StreamFrames implements FrameMaker {
  readonly #parts: readonly TopicPart[];
  #events = 0;
  /** When the position was sent last, or all were sent that waited. */
  #positionMs = performance.now();

  constructor(parts: readonly TopicPart[]) {
    this.#parts = parts;
  }

  get isPending(): boolean {
    return this.#parts.some(({ isPending }) => isPending);
  }

  get size(): number {
    return this.#parts.reduce((sum, { size }) => sum + size, 0);
  }

  take(event: LiveEvent): boolean {
    let isTaken = false;
    for (const part of this.#parts) isTaken = part.take(event) || isTaken;
    if (isTaken) this.#events += 1;
    return isTaken;
  }

  begun(position: string): string {
    const messages = this.#parts.flatMap((part) => part.begun?.() ?? []);
    return messages.length === 0 ? '' : messagesText(messages, position);
  }

  close(): void {
    for (const part of this.#parts) part.close?.();
  }

  /**
   * A peer that comes again from a position gets nothing of what was before it. So a frame has none
   * while messages wait; and none wait beside events, which may not come twice, or for long.
   */
  flush(position: string, isLast = false): Pick<Frame, 'text' | 'events'> {
    const nowMs = performance.now();
    const events = this.#events;
    this.#events = 0;
    const due = this.#parts.flatMap((part) => part.flush(nowMs, isLast));
    if (due.length === 0) return { text: '', events };
    const isLate = nowMs - this.#positionMs > POSITION_MS;
    const mustAll = this.isPending && (isLate || due.some(({ event }) => event === 'events'));
    const early = mustAll ? this.#parts.flatMap((part) => part.flush(nowMs, true)) : [];
    if (this.isPending) return { text: messagesText(due, undefined), events };
    this.#positionMs = nowMs;
    return { text: messagesText([...early, ...due], position), events };
  }
}
