import { timeText } from '@brine/api';
import { isJid, parseTag } from '@brine/job';
import { intOf, mapIn, textOf } from '@brine/wire';
import { hasFailed } from '@brine/wire/load';
import type { LiveEvent } from '../live/live-events.ts';
import type { Sight } from '../live/sight.ts';
import type { JobCounts } from './job-counts.ts';
import type { Message, TopicPart, TopicSource } from './topic.ts';

/** The counts of a job are sent four times a second at most. */
const COUNTS_MS = 250;
/** Jobs whose last message is remembered. */
const SENT_MAX = 10_000;

/** `jobs`: the counts of all jobs. */
export function jobsTopic(counts: JobCounts): TopicSource {
  return {
    open: (argument) =>
      argument === undefined
        ? { make: (sight) => new CountsPart(counts, sight) }
        : 'is no topic: jobs has no argument',
  };
}

/** `job:<jid>`: the counts of one job, who returned, and the progress of its states. */
export function jobTopic(counts: JobCounts): TopicSource {
  return {
    open: (jid) =>
      isJid(jid)
        ? {
            jids: new Set([jid]),
            make: (sight) => new JobPart(jid, new CountsPart(counts, sight)),
          }
        : 'is no topic: job has the id of a job',
  };
}

/** Counts of jobs that the followers see as a whole. */
class CountsPart implements TopicPart {
  readonly #counts: JobCounts;
  readonly #sight: Sight;
  readonly #changed = new Set<string>();
  readonly #sentAt = new Map<string, number>();

  constructor(counts: JobCounts, sight: Sight) {
    this.#counts = counts;
    this.#sight = sight;
  }

  get isPending(): boolean {
    return this.#changed.size > 0;
  }

  get size(): number {
    return this.#changed.size * 100;
  }

  take({ tag }: LiveEvent): boolean {
    const parsed = parseTag(tag);
    if (parsed.kind !== 'job-new' && parsed.kind !== 'job-return') return false;
    if (!this.#sight.seesJob(parsed.jid)) return false;
    this.#changed.add(parsed.jid);
    return true;
  }

  flush(nowMs: number, isAll: boolean): readonly Message[] {
    const messages: Message[] = [];
    for (const jid of this.#changed) {
      if (!isAll && nowMs - (this.#sentAt.get(jid) ?? -Infinity) < COUNTS_MS) continue;
      this.#changed.delete(jid);
      this.#noteSent(jid, nowMs);
      const counts = this.#counts.of(jid) ?? null;
      const closed = counts === null ? null : counts.waiting === 0;
      messages.push({ event: 'job', data: JSON.stringify({ jid, counts, closed }) });
    }
    return messages;
  }

  #noteSent(jid: string, nowMs: number): void {
    this.#sentAt.delete(jid);
    this.#sentAt.set(jid, nowMs);
    for (const [oldest, atMs] of this.#sentAt) {
      if (this.#sentAt.size <= SENT_MAX && nowMs - atMs < COUNTS_MS) return;
      this.#sentAt.delete(oldest);
    }
  }
}

class JobPart implements TopicPart {
  readonly #jid: string;
  readonly #counts: CountsPart;
  #returns: object[] = [];
  /** The last state of each minion. */
  #progress = new Map<string, object>();

  constructor(jid: string, counts: CountsPart) {
    this.#jid = jid;
    this.#counts = counts;
  }

  get isPending(): boolean {
    return this.#counts.isPending;
  }

  get size(): number {
    return this.#counts.size + (this.#returns.length + this.#progress.size) * 150;
  }

  take(event: LiveEvent): boolean {
    const parsed = parseTag(event.tag);
    if (!('jid' in parsed) || parsed.jid !== this.#jid) return false;
    const isCounted = this.#counts.take(event);
    if (parsed.kind === 'job-return') this.#returns.push(returnOf(parsed.jid, parsed.id, event));
    else if (parsed.kind === 'job-progress') {
      const { jid, id, part } = parsed;
      this.#progress.set(id, { jid, id, ...progressOf(event), number: Number(part) });
    } else return isCounted;
    return true;
  }

  flush(nowMs: number, isAll: boolean): readonly Message[] {
    const progress = [...this.#progress.values()].map((one) => message('progress', one));
    const returns = this.#returns.length === 0 ? [] : [message('returns', this.#returns)];
    this.#returns = [];
    this.#progress = new Map();
    return [...progress, ...returns, ...this.#counts.flush(nowMs, isAll)];
  }
}

function message(event: string, value: object): Message {
  return { event, data: JSON.stringify(value) };
}

function returnOf(jid: string, id: string, { data, timeMs }: LiveEvent): object {
  const state = hasFailed(data) ? 'failed' : 'returned';
  return { jid, id, state, retcode: intOf(data, 'retcode') ?? null, at: timeText(timeMs / 1_000) };
}

/** A state that ran (Salt: salt/state.py event). */
function progressOf({ data }: LiveEvent): object {
  const inner = mapIn(data, 'data') ?? data;
  const ret = mapIn(inner, 'ret');
  const of = intOf(inner, 'len');
  const name = ret && (textOf(ret, '__id__') ?? textOf(ret, 'name'));
  const result = ret?.get('result');
  return {
    state: name ?? null,
    result: typeof result === 'boolean' ? result : null,
    ...(of === undefined ? {} : { of }),
  };
}
