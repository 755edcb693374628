import { compileGlob } from '@brine/target';
import { shownText } from '../live/event-text.ts';
import type { LiveEvent } from '../live/live-events.ts';
import type { Message, TopicPart, TopicSource } from './topic.ts';

/** Length limit of a filter. A glob of stars alone takes little work for any tag. */
const FILTER_MAX = 200;

/** `events` and `events:<glob of tags>`. */
export const EVENT_TOPIC: TopicSource = {
  open: (filter) => {
    if (filter === undefined) return { make: () => new EventPart(() => true) };
    if (filter === '' || filter.length > FILTER_MAX || /[?[\]]/.test(filter)) {
      return `is no topic: a glob of tags has * alone, and up to ${FILTER_MAX} characters`;
    }
    const isWanted = compileGlob(filter);
    return { make: () => new EventPart(isWanted) };
  },
};

class EventPart implements TopicPart {
  readonly isPending = false;
  readonly #isWanted: (tag: string) => boolean;
  #texts: string[] = [];
  #size = 0;

  constructor(isWanted: (tag: string) => boolean) {
    this.#isWanted = isWanted;
  }

  get size(): number {
    return this.#size;
  }

  take(event: LiveEvent): boolean {
    if (!this.#isWanted(event.tag)) return false;
    const text = shownText(event);
    this.#texts.push(text);
    this.#size += text.length;
    return true;
  }

  flush(): readonly Message[] {
    if (this.#texts.length === 0) return [];
    const data = `[${this.#texts.join(',')}]`;
    this.#texts = [];
    this.#size = 0;
    return [{ event: 'events', data }];
  }
}
