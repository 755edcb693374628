import type { Bus } from '@brine/bus';
import { EventReader } from '@brine/bus/events';
import { PublicationReader } from '@brine/bus/jobs';
import type { EventKind } from '@brine/job';
import type { Clock, Jobs, LaneParts, LaneSettings, LaneStats } from '@brine/syndic';
import type { MasterAbove, SyndicMode } from '@brine/syndic';
import { ForwardLane } from '@brine/syndic';
import type { Log } from '@brine/tasks';
import { eventsAbove, jobsAbove } from './events-above.ts';

/** A way up: its target, and its returns. */
export interface Way {
  /** Part of the names of its consumers: relays of the same name share the work. */
  readonly name: string;
  readonly above: MasterAbove;
  readonly isFor: LaneParts['isFor'];
  /** Only returns: events and lists of minions take another way. */
  readonly returnsOnly: boolean;
}

/** The parts that all ways share. */
export interface UpwardParts {
  readonly bus: Bus;
  readonly jobs: Jobs;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: LaneSettings;
}

/** The state of a way up. */
export interface WayStatus extends LaneStats {
  readonly name: string;
  readonly reading: boolean;
  /** True if the last request was delivered. */
  readonly flows: boolean;
}

/** Most events of a group, as of a request. */
const GROUP = 200;
/** Returns of one job come close together, so a group waits this long, in ms. */
const LINGER_MS = 20;
/** Events that a killed relay had in flight are delivered again after this. */
const ACK_WAIT_MS = 30_000;
/** Without the kinds that only the store reads; publications have a stream of their own. */
const KINDS: Readonly<Record<SyndicMode, readonly EventKind[]>> = {
  sync: ['ret', 'minion', 'auth', 'key', 'local', 'syndic', 'job', 'hook'],
  cluster: ['ret', 'syndic', 'local'],
};

/**
 * Brings events, lists of minions and returns up one way, and keeps its position in the streams.
 */
export class Upward {
  readonly #way: Way;
  readonly #events: EventReader;
  readonly #jobs: PublicationReader | undefined;
  readonly #lane: ForwardLane;
  readonly #jobLane: ForwardLane;
  readonly #clock: Clock;

  constructor(way: Way, parts: UpwardParts) {
    const { bus, jobs, clock, log, settings } = parts;
    this.#way = way;
    this.#clock = clock;
    const place = {
      durable: `syndic-${way.name}`,
      from: 'new',
      ackWaitMs: ACK_WAIT_MS,
      // A master above may be unreachable for hours: no other relay may bring the same events.
      extendsAckWait: true,
      // A way that was removed from the configuration must not keep the streams from being trimmed.
      forgetAfterMs: settings.keepMs,
    } as const;
    const kinds: readonly EventKind[] = way.returnsOnly ? ['ret'] : KINDS[settings.mode];
    this.#events = new EventReader(bus, { ...place, kinds });
    this.#jobs = way.returnsOnly
      ? undefined
      : new PublicationReader(bus, { ...place, kinds: ['job'] });
    const lane = { above: way.above, jobs, isFor: way.isFor, clock, log };
    this.#lane = new ForwardLane(lane, settings);
    // Callers above need the list of minions at once; each message is one job already.
    this.#jobLane = new ForwardLane(lane, { ...settings, pauseMs: 0 });
  }

  get status(): WayStatus {
    const lanes = [this.#lane, this.#jobLane];
    const sum = (name: keyof LaneStats): number =>
      lanes.reduce((total, lane) => total + lane.stats[name], 0);
    return {
      name: this.#way.name,
      reading: this.#events.reading && (this.#jobs?.reading ?? true),
      flows: lanes.every((lane) => lane.flows),
      returns: sum('returns'),
      events: sum('events'),
      passed: sum('passed'),
      retries: sum('retries'),
      lost: sum('lost'),
      stale: sum('stale'),
    };
  }

  /** Runs until the signal is aborted; rejects only with a fault that a retry can not repair. */
  async run(signal: AbortSignal): Promise<void> {
    // First, or events that are given back would be delivered here again.
    signal.addEventListener('abort', () => this.close(), { once: true });
    const wait = (ms: number): Promise<void> => this.#clock.sleep(ms, signal);
    const lanes = [
      this.#lane.run(eventsAbove(this.#events.batches(GROUP, LINGER_MS), wait), signal),
      ...(this.#jobs === undefined ? [] : [this.#jobLane.run(jobsAbove(this.#jobs), signal)]),
    ];
    try {
      await Promise.all(lanes);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.close();
      await Promise.allSettled(lanes);
      await this.#giveBack();
    }
  }

  /**
   * Gives back events that were read ahead, so that the next relay need not wait for the timeout.
   */
  async #giveBack(): Promise<void> {
    for await (const batch of this.#events.batches(GROUP)) for (const one of batch) one.nak(0);
    if (this.#jobs !== undefined) for await (const one of this.#jobs) one.nak(0);
  }

  close(): void {
    this.#events.close();
    this.#jobs?.close();
  }
}
