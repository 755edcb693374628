import type { Frame, FrameMaker } from '../live/frames.ts';
import type { LiveEvent } from '../live/live-events.ts';
import { messagesText } from './messages.ts';
import type { TopicPart } from './topic.ts';

/** The frames of a stream with some topics. */
export class StreamFrames implements FrameMaker {
  readonly #parts: readonly TopicPart[];
  #events = 0;

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

  flush(position: string): Pick<Frame, 'text' | 'events'> {
    const nowMs = performance.now();
    const events = this.#events;
    this.#events = 0;
    const messages = this.#parts.flatMap((part) => part.flush(nowMs));
    return { text: messages.length === 0 ? '' : messagesText(messages, position), events };
  }
}
