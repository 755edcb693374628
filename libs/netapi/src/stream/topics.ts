import type { Form } from '../live/frames.ts';
import { byeText, lagText, resetText, stillText } from './messages.ts';
import { StreamFrames } from './stream-frames.ts';
import type { OpenTopic, RefusedTopic, TopicSources } from './topic.ts';

/** Topics of one stream, and those of its kinds that have a limit of their own. */
export const TOPICS_MAX = 16;
const OF_KIND_MAX = { events: 1, minions: 8 } as const;

/** Topics that a stream asked for, in one order. */
export interface Topics {
  readonly names: readonly string[];
  /** Those that it does not get. */
  readonly refused: readonly RefusedTopic[];
  readonly form: Form;
  /** Few others ask for the same: it costs each event some work of its own. */
  readonly isRare: boolean;
  /** Topics with rows of their own in memory, which cost work without events. */
  readonly computed: number;
}

/**
 * Reads a list of topics. A topic that is refused leaves the others: the tabs of a browser share a
 * stream.
 * @throws RangeError with a text for the peer, for too many topics, and without a valid one
 */
export function readTopics(text: string, sources: TopicSources): Topics {
  const asked = [...new Set(text.split(','))];
  if (asked.length > TOPICS_MAX) throw new RangeError(`topics: more than ${TOPICS_MAX}`);
  const { open, refused } = openTopics(asked, sources);
  const [first] = refused;
  if (open.size === 0) {
    throw new RangeError(`topics: ${JSON.stringify(first?.topic.slice(0, 80))} ${first?.why}`);
  }
  const names = [...open.keys()].sort();
  // A stream that is cut between its messages has no event twice: they come last.
  const inOrder = [...names].sort((one, other) => orderOf(one) - orderOf(other));
  const opened = inOrder.flatMap((name) => open.get(name) ?? []);
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
  return { names, refused, form, isRare, computed };
}

function orderOf(name: string): number {
  return name.startsWith('events') ? 1 : 0;
}

/** Of a kind with a limit the topics that were asked for first are open. */
function openTopics(asked: readonly string[], sources: TopicSources) {
  const open = new Map<string, OpenTopic>();
  const refused: RefusedTopic[] = [];
  const left = new Map<string, number>(Object.entries(OF_KIND_MAX));
  for (const topic of asked) {
    const kind = topic.split(':', 1)[0] ?? '';
    const room = left.get(kind) ?? TOPICS_MAX;
    const opened = room === 0 ? `is one of more than ${maxOf(kind)}` : openTopic(topic, sources);
    if (typeof opened === 'string') {
      refused.push({ topic, why: opened });
      continue;
    }
    open.set(topic, opened);
    left.set(kind, room - 1);
  }
  return { open, refused };
}

function maxOf(kind: string): string {
  return `${new Map<string, number>(Object.entries(OF_KIND_MAX)).get(kind)} of ${kind}`;
}

/** A topic, or why it is refused. */
function openTopic(name: string, sources: TopicSources): OpenTopic | string {
  const at = name.indexOf(':');
  const source = sources.get(at < 0 ? name : name.slice(0, at));
  return source?.open(at < 0 ? undefined : name.slice(at + 1)) ?? 'is of no kind of topics';
}
