import { kindOf } from './message.ts';

/** Topics of one stream, and characters of all of them (libs/netapi topics.ts, libs/api). */
const TOPICS_MAX = 16;
const WINDOWS_MAX = 8;
const TEXT_MAX = 2_048;
/** A glob of a topic. */
const GLOB_MAX = 200;

/** What the tabs of a browser ask for, as one stream can have it. */
export interface Wanted {
  readonly topics: readonly string[];
  /** Topics that it can not have too: their tabs ask again from time to time instead. */
  readonly left: readonly string[];
}

/**
 * Joins the topics of all tabs; the tab that is looked at comes first.
 * A stream has events once: of two globs it has all events, and each tab takes its own. It has some
 * windows of minions, those of the first tabs.
 */
export function joinTopics(byTab: readonly (readonly string[])[]): Wanted {
  const all = [...new Set(byTab.flat())];
  const events = all.filter((topic) => kindOf(topic) === 'events');
  const joined = all.filter((topic) => kindOf(topic) !== 'events');
  const [one] = events;
  if (one !== undefined) joined.unshift(events.length === 1 ? one : 'events');
  const topics: string[] = [];
  const left: string[] = [];
  let room = TEXT_MAX;
  let windows = 0;
  for (const topic of joined) {
    const isWindow = kindOf(topic) === 'minions';
    const hasRoom = topics.length < TOPICS_MAX && topic.length < room;
    const fits = hasRoom && !(isWindow && windows === WINDOWS_MAX);
    (fits ? topics : left).push(topic);
    if (!fits) continue;
    windows += Number(isWindow);
    room -= topic.length + 1;
  }
  return { topics: topics.sort(), left };
}

/** The topic of the events with such tags: all of them where a topic can not have the glob. */
export function eventsTopic(glob: string | undefined): string {
  if (glob === undefined || glob.length > GLOB_MAX || /[?[\],]/.test(glob)) return 'events';
  return `events:${glob}`;
}
