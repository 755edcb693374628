import type { Form } from '../live/frames.ts';
import { byeText, lagText, resetText, stillText } from './messages.ts';
import { StreamFrames } from './stream-frames.ts';
import type { OpenTopic, TopicSources } from './topic.ts';

/** Topics of one stream, and those of its kinds that have a limit of their own. */
export const TOPICS_MAX = 16;
const OF_KIND_MAX = { events: 1, minions: 8 } as const;

/** Topics that a stream asked for, in one order. */
export interface Topics {
  readonly names: readonly string[];
  readonly form: Form;
  /** Few others ask for the same: it costs each event some work of its own. */
  readonly isRare: boolean;
  /** Topics with rows of their own in memory, which cost work without events. */
  readonly computed: number;
}

/** Reads a list of topics. @throws RangeError with a text for the peer */
export function readTopics(text: string, sources: TopicSources): Topics {
  const names = [...new Set(text.split(','))].sort();
  if (names.length > TOPICS_MAX) throw new RangeError(`topics: more than ${TOPICS_MAX}`);
  for (const [kind, max] of Object.entries(OF_KIND_MAX)) {
    if (names.filter((name) => name.split(':', 1)[0] === kind).length > max) {
      throw new RangeError(`topics: more than ${max} of ${kind}`);
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
  const computed = opened.filter((one) => one.isComputed === true).length;
  const isRare = computed > 0 || (!areOfJobs && names.some((name) => name.includes(':')));
  return { names, form, isRare, computed };
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
