import { createHash } from 'node:crypto';
import { mayRead, type Readable, type Reader } from '@brine/acl';
import { isJid, parseTag } from '@brine/job';
import { isMap, listOf, mapOf, type SaltMap, textOf } from '@brine/wire';
import type { LiveEvent } from './live-events.ts';

/** Jobs whose principals are remembered while they return. */
const JOBS_MAX = 50_000;

/** Who began jobs, as far as it is known. */
export interface KnownPrincipals {
  /** Undefined for a job whose principal is not known. */
  of(jid: string): string | undefined;
}

/** The principals of jobs, from the events that announce them, and as the job cache knows them. */
export class Principals implements KnownPrincipals {
  readonly #ofJob = new Map<string, string>();
  /** Jobs that a principal did not begin, each as `principal\njid`. */
  readonly #notOf = new Set<string>();

  /** Takes each event, before it is judged. */
  note(event: LiveEvent): void {
    if (event.kind !== 'job') return;
    const parsed = parseTag(event.tag);
    if (parsed.kind !== 'job-new') return;
    const user = textOf(event.data, 'user');
    if (user === undefined) return;
    this.#ofJob.set(parsed.jid, user);
    trim(this.#ofJob);
  }

  /** Takes what the job cache knows: of the asked jobs, a principal began these. */
  learn(principal: string, asked: Iterable<string>, own: ReadonlySet<string>): void {
    for (const jid of asked) {
      if (own.has(jid)) this.#ofJob.set(jid, principal);
      else this.#notOf.add(`${principal}\n${jid}`);
      trim(this.#ofJob);
      trim(this.#notOf);
    }
  }

  /** True if it is known whether this principal began the job. */
  isKnown(principal: string, jid: string): boolean {
    return this.#ofJob.has(jid) || this.#notOf.has(`${principal}\n${jid}`);
  }

  of(jid: string): string | undefined {
    return this.#ofJob.get(jid);
  }
}

/** Forgets what came first. */
function trim(kept: {
  readonly size: number;
  keys(): Iterable<string>;
  delete(key: string): boolean;
}): void {
  if (kept.size <= JOBS_MAX) return;
  for (const oldest of kept.keys()) {
    kept.delete(oldest);
    return;
  }
}

/** The job on whose principal it depends what this reader may see of an event, if not yet known. */
export function unknownJobOf(
  { principal }: Reader,
  event: Pick<LiveEvent, 'tag' | 'data'>,
  principals: Principals,
): string | undefined {
  let unknown: string | undefined;
  readableOf(event.tag, event.data, {
    of: (jid) => {
      if (isJid(jid) && !principals.isKnown(principal, jid)) unknown = jid;
      return undefined;
    },
  });
  return unknown;
}

/** Which events a follower gets. Followers with the same key get the same events. */
export interface Sight {
  readonly key: string;
  /** For what is no event. */
  readonly reader: Reader;
  sees(event: LiveEvent): boolean;
  /** True if the job as a whole is seen, and not only what some minions returned. */
  seesJob(jid: string): boolean;
  /** True while {@link sees} can not know: the job cache has not been asked yet. */
  isUnsure?(event: LiveEvent): boolean;
  /** Asks it; false if it does not answer. */
  readonly learn?: (events: readonly LiveEvent[]) => Promise<boolean>;
}

/** How long followers wait for what the job cache knows about jobs, ms. */
const LEARN_MS = 2_000;

/** Asks the job cache about the jobs of these events where it must; false if it does not answer. */
export async function learnInTime(sight: Sight, events: readonly LiveEvent[]): Promise<boolean> {
  const { learn } = sight;
  if (learn === undefined) return false;
  if (!events.some((event) => sight.isUnsure?.(event))) return true;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), LEARN_MS);
  });
  const learnt = await Promise.race([learn(events), late]);
  clearTimeout(timer);
  return learnt;
}

/** The events that a reader may see. */
export function sightOf(reader: Reader, principals: Principals, learn?: Sight['learn']): Sight {
  if (reader.acl === undefined) {
    return { key: 'all', reader, sees: () => true, seesJob: () => true };
  }
  return {
    key: keyOf(reader),
    reader,
    sees: (event) => mayRead(reader, readableOf(event.tag, event.data, principals)),
    seesJob: (jid) => mayRead(reader, { kind: 'job', principal: principals.of(jid) }),
    ...(learn === undefined
      ? {}
      : { learn, isUnsure: (event) => unknownJobOf(reader, event, principals) !== undefined }),
  };
}

const keys = new WeakMap<Reader, string>();

/** The same for readers with the same rights on the same minions. */
export function rightsKey(reader: Reader): string {
  if (reader.acl === undefined) return 'all';
  const key = keys.get(reader) ?? keyOf(reader);
  keys.set(reader, key);
  return key;
}

function keyOf({ principal, acl = [], matching }: Reader): string {
  const hash = createHash('sha256').update(JSON.stringify([principal, acl], withMaps));
  for (const entry of acl) {
    if (entry.kind === 'on') for (const id of matching(entry.target)) hash.update(`\n${id}`);
  }
  return hash.digest('base64url');
}

function withMaps(_name: string, value: unknown): unknown {
  return value instanceof Map ? [...value] : value;
}

/** The thing that an event is about. */
export function readableOf(tag: string, data: SaltMap, principals: KnownPrincipals): Readable {
  const parsed = parseTag(tag);
  switch (parsed.kind) {
    case 'job-new':
    case 'job-publish':
    case 'job-error':
      return { kind: 'job', principal: principals.of(parsed.jid) };
    case 'job-return':
    case 'job-progress':
      return returnOf(parsed.jid, parsed.id, data, principals);
    case 'run':
    case 'wheel':
      return runOf(parsed.kind === 'run' ? 'runner' : 'wheel', data);
    case 'auth':
    case 'key':
    case 'presence':
    case 'minion-start':
      return { kind: 'keys' };
    case 'syndic':
      return readableOf(parsed.tag, data, principals);
    case 'other':
      return otherOf(tag, data, principals);
  }
}

/** Tags that `parseTag` does not name: failed states, batches, the job ids of 3006. */
function otherOf(tag: string, data: SaltMap, principals: KnownPrincipals): Readable {
  const [first, second, jid = '', sub, id = ''] = tag.split('/');
  if (first === 'salt' && second === 'job') {
    if (sub === 'sub') return returnOf(jid, id, data, principals);
    return { kind: 'job', principal: principals.of(jid) };
  }
  if (first === 'salt' && second === 'batch') return { kind: 'job', principal: principals.of(jid) };
  if (/^\d{20}$/.test(tag)) return { kind: 'job', principal: principals.of(tag) };
  if (tag === 'minion_start' || tag === 'key' || tag === 'auth') return { kind: 'keys' };
  return { kind: 'site' };
}

function returnOf(
  jid: string,
  minion: string,
  data: SaltMap,
  principals: KnownPrincipals,
): Readable {
  return {
    kind: 'return',
    principal: principals.of(jid),
    minion,
    fun: textOf(data, 'fun') ?? '',
    args: listOf(data, 'fun_args') ?? [],
  };
}

/** The arguments in the event of a run have those by name in a map at the end. */
function runOf(of: 'runner' | 'wheel', data: SaltMap): Readable {
  const given = listOf(data, 'fun_args') ?? [];
  const last = given.at(-1) ?? null;
  const isNamed = isMap(last);
  return {
    kind: 'run',
    principal: textOf(data, 'user'),
    of,
    fun: (textOf(data, 'fun') ?? '').replace(/^(runner|wheel)\./, ''),
    args: isNamed ? given.slice(0, -1) : given,
    kwargs: isNamed ? last : mapOf({}),
  };
}
