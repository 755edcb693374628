import type { Log } from '@brine/tasks';
import type { SaltMap } from '@brine/wire';
import { textOf } from '@brine/wire';
import { buildMinionEvents } from '@brine/wire/load';
import { LRUCache } from 'lru-cache';
import { Delivery } from './delivery.ts';
import type { Clock, EventToForward, Jobs, KnownJob, MasterAbove } from './ports.ts';
import type { ReturnToForward } from './return-batch.ts';
import { syndicReturn } from './return-batch.ts';
import type { SyndicMode } from './roads.ts';
import { roadOf } from './roads.ts';

/** The settings of a lane. */
export interface LaneSettings {
  /** The id of the syndic. Its events get tags below `syndic/<id>`. */
  readonly id: string;
  readonly masterId: string | undefined;
  readonly mode: SyndicMode;
  /** `syndic_event_forward_timeout`: the least time between two groups, in ms. */
  readonly pauseMs: number;
  /** `syndic_jid_forward_cache_hwm`: jobs whose load is known above. */
  readonly loadsRemembered: number;
  /** Older events are given up, in ms; by default the time that masters keep jobs. */
  readonly keepMs: number;
}

/** The parts of a lane. */
export interface LaneParts {
  readonly above: MasterAbove;
  readonly jobs: Jobs;
  /** True if returns of this job take this lane; `masterId` comes from the return. */
  isFor(job: KnownJob | undefined, masterId: string | undefined): boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** The counts of a lane. */
export interface LaneStats {
  readonly returns: number;
  readonly events: number;
  /** Not for above, or not for this master above. */
  readonly passed: number;
  /** Requests that were sent again. */
  readonly retries: number;
  /** Given up: too old, refused for good, or unreadable. */
  readonly lost: number;
  /** Events, not returns, that were too old to forward. */
  readonly stale: number;
}

/** Most returns and bytes of one request; a stock master needs 5 to 10 ms for each return. */
const GROUP_MAX = 200;
const GROUP_BYTES = 4 * 1024 * 1024;
/** Events that are not about a job are forwarded up to this age. */
const NEWS_MS = 10 * 60_000;
/** Keys of forwarded events: an event with a late acknowledgement comes twice. */
const RECENT_MAX = 10_000;

/** An event in flight. */
interface Taken<T> {
  readonly event: EventToForward;
  readonly what: T;
}

/**
 * Brings the events of this master to one above, in order. Each is acknowledged here only after its
 * delivery. While the master above is unreachable, the lane waits with the events in flight, and
 * the stream keeps the backlog.
 */
export class ForwardLane {
  readonly #parts: LaneParts;
  readonly #settings: LaneSettings;
  readonly #delivery: Delivery;
  readonly #done = new LRUCache<string, true>({ max: RECENT_MAX });
  readonly #loads: Set<string> = new Set();
  readonly #counts = { returns: 0, events: 0, passed: 0, unread: 0, stale: 0 };

  constructor(parts: LaneParts, settings: LaneSettings) {
    this.#parts = parts;
    this.#settings = settings;
    this.#delivery = new Delivery(parts, settings.keepMs);
  }

  get stats(): LaneStats {
    const { unread, ...counts } = this.#counts;
    const { retries, lost } = this.#delivery.stats;
    return { ...counts, retries, lost: lost + unread };
  }

  /** True if the last request was delivered. */
  get flows(): boolean {
    return this.#delivery.flows;
  }

  /** Forwards groups until there are no more or the signal is aborted. */
  async run(groups: AsyncIterable<readonly EventToForward[]>, signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    for await (const group of groups) {
      const startedMs = clock.nowMs();
      await this.forward(group, signal);
      const left = this.#settings.pauseMs - (clock.nowMs() - startedMs);
      // A full group means a backlog, which a pause would not reduce.
      if (left > 0 && group.length < GROUP_MAX) await clock.sleep(left, signal);
    }
  }

  /**
   * Forwards these; resolves once each is delivered, skipped or given up. Rejects with the signal's
   * reason, after it has given back the events in flight.
   */
  async forward(group: readonly EventToForward[], signal: AbortSignal): Promise<void> {
    const left = new Set(group);
    try {
      for (const piece of pieces(group)) {
        await this.#forwardPiece(piece, signal);
        for (const event of piece) left.delete(event);
      }
    } catch (error) {
      for (const event of left) event.giveBack();
      throw error;
    }
  }

  async #forwardPiece(piece: readonly EventToForward[], signal: AbortSignal): Promise<void> {
    const returns: Taken<ReturnToForward>[] = [];
    const events: Taken<SaltMap>[] = [];
    for (const event of piece) await this.#sort(event, returns, events);
    if (events.length > 0) await this.#sendEvents(events, signal);
    if (returns.length > 0) await this.#sendReturns(returns, signal);
  }

  async #sort(
    event: EventToForward,
    returns: Taken<ReturnToForward>[],
    events: Taken<SaltMap>[],
  ): Promise<void> {
    if (this.#done.has(event.key)) return event.ack();
    const data = await event.data();
    if (data === undefined) return this.#unread(event);
    try {
      await this.#sortRead(event, data, returns, events);
    } catch {
      // A bad event must not delay the others.
      this.#unread(event);
    }
  }

  /** Gives up an unreadable event: the next try would fail too. */
  #unread(event: EventToForward): void {
    this.#counts.unread += 1;
    if (this.#counts.unread === 1) {
      this.#parts.log.error({ tag: event.tag }, 'an event that can not be read does not go up');
    }
    event.ack();
  }

  async #sortRead(
    event: EventToForward,
    data: SaltMap,
    returns: Taken<ReturnToForward>[],
    events: Taken<SaltMap>[],
  ): Promise<void> {
    const { mode, masterId } = this.#settings;
    const road = roadOf(event.tag, data, mode, masterId);
    if (road === 'return' && (await this.#isFor(event, data))) {
      const { jid = '', minion = textOf(data, 'id') ?? '' } = event;
      returns.push({ event, what: { jid, minion, data } });
    } else if (road === 'event' && this.#isNews(event, data)) {
      events.push({ event, what: data });
    } else {
      if (road !== 'event') this.#counts.passed += 1;
      event.ack();
    }
  }

  async #isFor(event: EventToForward, data: SaltMap): Promise<boolean> {
    if (event.jid === undefined) return false;
    const asker = data.get('master_id');
    const job = await this.#parts.jobs.find(event.jid);
    return this.#parts.isFor(job, typeof asker === 'string' ? asker : undefined);
  }

  /** A list of expected minions stays relevant as long as returns may come. */
  #isNews(event: EventToForward, data: SaltMap): boolean {
    if (data.has('minions')) return true;
    if (this.#parts.clock.nowMs() - event.timeMs <= NEWS_MS) return true;
    this.#counts.stale += 1;
    return false;
  }

  async #sendEvents(events: readonly Taken<SaltMap>[], signal: AbortSignal): Promise<void> {
    const { id } = this.#settings;
    await this.#delivery.deliver(
      events,
      {
        load: (some) =>
          buildMinionEvents(
            id,
            some.map(({ event, what }) => ({ tag: event.tag, data: what })),
            `syndic/${id}`,
          ),
        taken: (some) => {
          this.#counts.events += some.length;
          this.#settle(some);
        },
      },
      signal,
    );
  }

  async #sendReturns(returns: readonly Taken<ReturnToForward>[], signal: AbortSignal) {
    const loads = await this.#loadsOf(returns);
    await this.#delivery.deliver(
      returns,
      {
        load: (some) =>
          syndicReturn(
            this.#settings.id,
            some.map(({ what }) => what),
            (jid) => (this.#loads.has(jid) ? undefined : loads.get(jid)),
          ),
        taken: (some) => {
          this.#counts.returns += some.length;
          for (const { what } of some) this.#rememberLoad(what.jid);
          this.#settle(some);
        },
      },
      signal,
    );
  }

  async #loadsOf(
    returns: readonly Taken<ReturnToForward>[],
  ): Promise<ReadonlyMap<string, SaltMap>> {
    const loads = new Map<string, SaltMap>();
    for (const jid of new Set(returns.map(({ what }) => what.jid))) {
      if (this.#loads.has(jid)) continue;
      const load = (await this.#parts.jobs.find(jid))?.load;
      if (load !== undefined) loads.set(jid, load);
    }
    return loads;
  }

  /** Forgets the oldest job, not the one that was forwarded first (salt/minion.py). */
  #rememberLoad(jid: string): void {
    this.#loads.add(jid);
    if (this.#loads.size <= this.#settings.loadsRemembered) return;
    let oldest = jid;
    for (const known of this.#loads) if (known < oldest) oldest = known;
    this.#loads.delete(oldest);
  }

  #settle(some: readonly Taken<unknown>[]): void {
    for (const { event } of some) {
      this.#done.set(event.key, true);
      event.ack();
    }
  }
}

function* pieces(group: readonly EventToForward[]): Generator<readonly EventToForward[]> {
  let piece: EventToForward[] = [];
  let bytes = 0;
  for (const event of group) {
    if (piece.length > 0 && (piece.length >= GROUP_MAX || bytes + event.size > GROUP_BYTES)) {
      yield piece;
      piece = [];
      bytes = 0;
    }
    piece.push(event);
    bytes += event.size;
  }
  if (piece.length > 0) yield piece;
}
