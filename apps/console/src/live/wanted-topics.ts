import { kindOf } from './message.ts';

/** Topics of one stream (libs/netapi topics.ts). */
const TOPICS_MAX = 16;

/** What the tabs of a browser ask for, as one stream can have it. */
export interface Wanted {
  readonly topics: readonly string[];
  /** Topics beyond the bound: their tabs ask again from time to time instead. */
  readonly left: readonly string[];
}

/**
 * Joins the topics of all tabs; the tab that is looked at comes first.
 * A stream has events once: of two globs it has all events, and each tab takes its own.
 */
export function joinTopics(byTab: readonly (readonly string[])[]): Wanted {
  const all = [...new Set(byTab.flat())];
  const events = all.filter((topic) => kindOf(topic) === 'events');
  const joined = all.filter((topic) => kindOf(topic) !== 'events');
  const [one] = events;
  if (one !== undefined) joined.unshift(events.length === 1 ? one : 'events');
  return { topics: joined.slice(0, TOPICS_MAX).sort(), left: joined.slice(TOPICS_MAX) };
}
