import type { Form } from '../live/frames.ts';
import { byeText, lagText, resetText, stillText } from './messages.ts';
import { StreamFrames } from './stream-frames.ts';
import type { OpenTopic, TopicSources } from './topic.ts';

/** Topics of one stream. */
export const TOPICS_MAX = 16;

/** Topics that a stream asked for, in one order. */
export interface Topics {
  readonly names: readonly string[];
  readonly form: Form;
  /** Few others ask for the same: it costs each event some work of its own. */
  readonly isRare: boolean;
  /** It has rows of its own in memory, and costs work without events. */
  readonly isComputed: boolean;
}

/** Reads a list of topics. @throws RangeError with a text for the peer */
export function readTopics(text: string, sources: TopicSources): Topics {
  const names = [...new Set(text.split(','))].sort();
  if (names.length > TOPICS_MAX) throw new RangeError(`topics: more than ${TOPICS_MAX}`);
  for (const once of ['events', 'minions']) {
    if (names.filter((name) => name.split(':', 1)[0] === once).length > 1) {
      throw new RangeError(`topics: ${once} are in a stream once`);
    }
  }
  // A stream that is cut between its messages has no event twice: they come last.
  const inOrder = [...names].sort((one, other) => orderOf(one) - orderOf(other));
  const opened = inOrder.map((name) => openTopic(name, sources));
  const areOfJobs = opened.every(({ jids }) => jids !== undefined);
  const jids = areOfJobs ? new Set(opened.flatMap((one) => [...(one.jids ?? [])])) : undefined;
  const form: Form = {
    name: `stream ${names.join(',')}`,
    ...(jids === undefined ? {} : { jids }),
    make: (sight, wake) => new StreamFrames(opened.map((topic) => topic.make(sight, wake))),
    lag: lagText,
    idle: stillText,
    reset: resetText,
    bye: byeText,
  };
  const isComputed = opened.some((one) => one.isComputed === true);
  const isRare = isComputed || (!areOfJobs && names.some((name) => name.includes(':')));
  return { names, form, isRare, isComputed };
}

function orderOf(name: string): number {
  return name.startsWith('events') ? 1 : 0;
}

function openTopic(name: string, sources: TopicSources): OpenTopic {
  const at = name.indexOf(':');
  const source = sources.get(at < 0 ? name : name.slice(0, at));
  const topic = source?.open(at < 0 ? undefined : name.slice(at + 1));
  if (topic === undefined) {
    throw new RangeError(`topics: ${JSON.stringify(name.slice(0, 80))} is no topic`);
  }
  return topic;
}
