import { type Bus, changeSubjects, STREAMS, subjects } from '@brine/bus';
import { type EventMessage, EventReader, type UnreadEvents } from '@brine/bus/events';
import { PublicationReader, type Published } from '@brine/bus/jobs';
import {
  eventReactionId,
  type NewReaction,
  REACTION_MAX_BYTES,
  type ReactionQueue,
} from '@brine/bus/reactions';
import { eventsOfJob } from '@brine/bus/timeline';
import { type EventKind, isJid, parseTag, traceparentOf } from '@brine/job';
import { kindsFor, MANAGE_ROOT, type ReactorMap, wantsJobs } from '@brine/reactor';
import { isRetryable, type Trouble } from '@brine/tasks';
import { mapOf, pack, scanMap, trimEvent, unpackMap, VALUE_TRIMMED, WireError } from '@brine/wire';

export interface MatchingParts {
  readonly bus: Bus;
  readonly queue: Pick<ReactionQueue, 'add'>;
  /** `max_event_size` in bytes; 0: none. */
  readonly maxEventSize: number;
  /** Handles an event by which stock runners manage the reactor; false: it is another event. */
  readonly manage: (event: EventMessage) => Promise<boolean>;
  readonly count: (outcome: MatchOutcome) => void;
  readonly onTrouble: Trouble;
  /** Called when the queue accepts all reactions again. */
  readonly onRelief: (text: string) => void;
}

/** The outcome of an event that an entry of the list matches. */
export type MatchOutcome = 'queued' | 'known' | 'dropped' | 'over share' | 'own' | 'not leader';

/** The list to be matched. */
export interface Wanted {
  readonly map: ReactorMap;
  readonly isLeader: boolean;
}

/** The durable reader that all processes share. */
const READER = 'reactor';
/**
 * Time after which a master without a reactor loses its position, so that the purge can continue.
 */
const FORGET_MS = 10 * 60_000;
/**
 * Enough to hide the round trip to NATS: two processes match 5,000 events per second. More would
 * delay returns. A process finished 99 % of returns within 250 ms with 128 (one run each), within
 * 50 ms with 16.
 */
const EVENTS_AT_ONCE = 16;
/** Delay after which an event is delivered again while the queue is unreachable. */
const AGAIN_MS = 1_000;
/** The user of runs that a reaction began: their events cause no reaction (Salt: event_user). */
export const REACTOR_USER = 'Reactor';
/** Events whose data a peer chose, so their `user` proves nothing. */
const BY_PEERS: ReadonlySet<EventKind> = new Set(['ret', 'minion', 'syndic', 'hook']);
/** Interval at which a source over its share is logged again, and the limit of such sources. */
const LOG_AGAIN_MS = 600_000;
const LOGGED_MAX = 1_000;
/** Limit of a separately stored body, as a multiple of max_event_size. */
const FETCH_FACTOR = 8;

/**
 * Reads the events of the cluster and puts those that an entry of the list matches into the queue
 * of reactions. All processes share one position in each stream, so one of them matches each event.
 * A slow reaction delays no event.
 */
export class Matching {
  readonly #parts: MatchingParts;
  #wanted: Wanted;
  #events: EventReader | undefined;
  #jobs: PublicationReader | undefined;
  #kinds = '';
  #running: Promise<void>[] = [];
  #isFull = false;
  /** Sources with too many waiting events, and the time when they were logged. */
  readonly #loggedOf = new Map<string, number>();
  #isClosed = false;

  constructor(parts: MatchingParts, wanted: Wanted) {
    this.#parts = parts;
    this.#wanted = wanted;
  }

  /** True while events are read. */
  get reading(): boolean {
    return this.#events?.reading === true && (this.#jobs?.reading ?? true);
  }

  /** Starts to read, or switches to another list. */
  async want(wanted: Wanted): Promise<void> {
    this.#wanted = wanted;
    const { globs } = wanted.map;
    const kinds = [...new Set<EventKind>([...kindsFor(globs), 'local'])].sort();
    const jobs = wantsJobs(globs);
    const key = `${kinds.join()} ${jobs}`;
    if (key === this.#kinds || this.#isClosed) return;
    // The reader may exist with the kinds of another process's list.
    await changeSubjects(this.#parts.bus, STREAMS.events, READER, kinds.map(subjects.event));
    this.#kinds = key;
    this.#events?.close();
    this.#jobs?.close();
    this.#read(kinds, jobs);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#events?.close();
    this.#jobs?.close();
    await Promise.all(this.#running);
  }

  #read(kinds: readonly EventKind[], jobs: boolean): void {
    const { bus, onTrouble } = this.#parts;
    const common = { durable: READER, from: 'new', forgetAfterMs: FORGET_MS } as const;
    const events = new EventReader(bus, { ...common, kinds });
    this.#events = events;
    this.#jobs = jobs ? new PublicationReader(bus, { ...common, kinds: ['job'] }) : undefined;
    const over = (what: string) => (err: unknown) => onTrouble(`${what} are not matched`, err);
    const running = [this.#runEvents(events).catch(over('events'))];
    if (this.#jobs !== undefined) running.push(this.#runJobs(this.#jobs).catch(over('jobs')));
    this.#running.push(...running);
    for (const one of running) {
      void one.then(() => (this.#running = this.#running.filter((other) => other !== one)));
    }
  }

  async #runEvents(reader: EventReader): Promise<void> {
    for await (const messages of reader.unread(EVENTS_AT_ONCE)) {
      await Promise.all(messages.map((message) => this.#message(message)));
    }
  }

  /** Events of one message wait for each other: a page of 255 large ones must not be in memory. */
  async #message(message: UnreadEvents): Promise<void> {
    for (const [at, event] of message.read().entries()) {
      const concerns = this.#wanted.map.wants(event.tag) || isManaging(event);
      if (concerns) await this.#event(event, at);
      else event.ack();
    }
  }

  async #event(event: EventMessage, at: number): Promise<void> {
    try {
      if (isManaging(event)) await this.#parts.manage(event);
      else await this.#matched(event, at);
      event.ack();
    } catch (error) {
      if (isRetryable(error)) event.nak(AGAIN_MS);
      else event.failed(error);
    }
  }

  async #matched(event: EventMessage, at: number): Promise<void> {
    if (!this.#wanted.isLeader) return this.#parts.count('not leader');
    const body = await this.#bodyOf(event);
    if (!BY_PEERS.has(event.kind) && isOwn(body)) return this.#parts.count('own');
    const { tag, timeMs, seq } = event;
    await this.#add({
      kind: 'event',
      name: tag,
      body,
      timeMs,
      link: linkOf(event),
      id: eventReactionId(STREAMS.events, seq, at),
      source: sourceOf(event),
    });
  }

  async #runJobs(reader: PublicationReader): Promise<void> {
    for await (const published of reader) await this.#job(published);
  }

  async #job(published: Published): Promise<void> {
    try {
      const events = published.kind === 'job' ? eventsOfJob(published.job) : [];
      for (const [at, { tag, jid, body }] of events.entries()) {
        if (!this.#wanted.map.wants(tag)) continue;
        if (!this.#wanted.isLeader) {
          this.#parts.count('not leader');
          continue;
        }
        await this.#add({
          kind: 'event',
          name: tag,
          timeMs: published.timeUs / 1_000,
          body: this.#trimmed(body(), mapOf({ jid })),
          link: isJid(jid) ? traceparentOf(jid, 'record') : undefined,
          id: eventReactionId(STREAMS.publications, published.seq, at),
        });
      }
      published.ack();
    } catch (error) {
      if (isRetryable(error)) published.nak(AGAIN_MS);
      else published.failed(error);
    }
  }

  async #add(reaction: NewReaction): Promise<void> {
    const queued = await this.#parts.queue.add(reaction);
    if (queued === 'over share') return this.#overShare(reaction);
    const { count, onTrouble, onRelief } = this.#parts;
    if (queued === 'full') {
      count('dropped');
      if (this.#isFull) return;
      this.#isFull = true;
      onTrouble(`the queue of reactions is full: no reaction to ${reaction.name} and what follows`);
      return;
    }
    if (queued === 'added' && this.#isFull) {
      this.#isFull = false;
      onRelief('the queue of reactions has room again');
    }
    count(queued === 'added' ? 'queued' : 'known');
  }

  /** The event is in the stream; only its reaction is dropped, as when the queue is full. */
  #overShare({ source = '', name }: NewReaction): void {
    const { count, onTrouble } = this.#parts;
    count('over share');
    const now = performance.now();
    if (now - (this.#loggedOf.get(source) ?? -Infinity) < LOG_AGAIN_MS) return;
    if (this.#loggedOf.size >= LOGGED_MAX) this.#loggedOf.clear();
    this.#loggedOf.set(source, now);
    const what = `no reaction to ${name} and what follows of it`;
    onTrouble(`${source} has its share of the queue of reactions: ${what}`);
  }

  /** The body as readers of the host's sockets get it: large values trimmed, `_stamp` of Salt. */
  async #bodyOf(event: EventMessage): Promise<Uint8Array> {
    const { kind, jid, minion } = event;
    const most = this.#parts.maxEventSize > 0 ? this.#parts.maxEventSize * FETCH_FACTOR : Infinity;
    const standIn = mapOf({ jid, id: minion });
    const isHuge = event.size > Math.min(most, REACTION_MAX_BYTES * FETCH_FACTOR);
    if (isHuge) return trimmedStandIn(standIn);
    const body = this.#trimmed(await event.fetch(), standIn);
    // The time of an event is that of the stream; tools of the host stamp theirs themselves.
    if (kind === 'local' || scanned(body)?.range('_stamp') === undefined) return body;
    const data = unpackMap(body);
    data.delete('_stamp');
    return pack(data);
  }

  #trimmed(body: Uint8Array, standIn: ReturnType<typeof mapOf>): Uint8Array {
    const { maxEventSize } = this.#parts;
    const most = maxEventSize > 0 ? Math.min(maxEventSize, REACTION_MAX_BYTES) : REACTION_MAX_BYTES;
    if (scanned(body) === undefined) return body.length > most ? trimmedStandIn(standIn) : body;
    const trimmed = trimEvent(body, most);
    return trimmed.length > REACTION_MAX_BYTES ? trimmedStandIn(standIn) : trimmed;
  }
}

/** The peer that chose the event; undefined for the master itself. Log-ins come from strangers. */
function sourceOf({ kind, minion, engine }: EventMessage): string | undefined {
  if (engine !== undefined) return `engine ${engine}`;
  if (kind === 'auth') return 'log-ins';
  if (kind === 'hook') return 'web hooks';
  return BY_PEERS.has(kind) ? `minion ${minion ?? ''}` : undefined;
}

function trimmedStandIn(about: ReturnType<typeof mapOf>): Uint8Array {
  return pack(about.set('return', VALUE_TRIMMED));
}

/** Returns undefined for a body that is no map. */
function scanned(body: Uint8Array): ReturnType<typeof scanMap> | undefined {
  try {
    return scanMap(body);
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}

/** True for events of host tools and this master; a peer may fire under any tag. */
function isManaging({ kind, tag }: Pick<EventMessage, 'kind' | 'tag'>): boolean {
  return kind === 'local' && tag.includes(MANAGE_ROOT);
}

function isOwn(body: Uint8Array): boolean {
  return scanned(body)?.value('user') === REACTOR_USER;
}

/** The span of the event's sender, or of its job. */
function linkOf({ link, kind, jid, minion, tag, traced }: EventMessage): string | undefined {
  if (link !== undefined) return link;
  if (kind === 'ret' && isJid(jid) && minion !== undefined) {
    return traced ? traceparentOf(jid, `worker.return.${minion}`) : undefined;
  }
  const parsed = parseTag(tag);
  const isRun = parsed.kind === 'run' || parsed.kind === 'wheel';
  return isRun ? traceparentOf(parsed.jid, 'request') : undefined;
}
