import type { Bus } from '@brine/bus';
import { EventReader } from '@brine/bus/events';
import { PublicationReader } from '@brine/bus/jobs';
import type { EventKind } from '@brine/job';
import type { Clock, Jobs, LaneParts, LaneSettings, LaneStats, RelayLog } from '@brine/syndic';
import type { MasterAbove, SyndicMode } from '@brine/syndic';
import { ForwardLane } from '@brine/syndic';
import { eventsAbove, jobsAbove } from './events-above.ts';

/** One way up: where it leads, and which returns go there. */
export interface Way {
  /** In the names of its consumers: relays of the same name share the work. */
  readonly name: string;
  readonly above: MasterAbove;
  readonly isFor: LaneParts['isFor'];
  /** Only returns: events and lists of minions go another way. */
  readonly returnsOnly: boolean;
}

/** What all ways have in common. */
export interface UpwardParts {
  readonly bus: Bus;
  readonly jobs: Jobs;
  readonly clock: Clock;
  readonly log: RelayLog;
  readonly settings: LaneSettings;
}

/** What a way up reports about itself. */
export interface WayStatus extends LaneStats {
  readonly name: string;
  readonly reading: boolean;
  /** Whether the last request found its way. */
  readonly flows: boolean;
}

/** In one group; as many as go in one request. */
const GROUP = 200;
/** Returns of one job come close together; so long they may gather, in ms. */
const LINGER_MS = 20;
/** Events that a killed relay had in flight go out again after this. */
const ACK_WAIT_MS = 30_000;
/** What the store alone reads stays; publications come by a stream of their own. */
const KINDS: Readonly<Record<SyndicMode, readonly EventKind[]>> = {
  sync: ['ret', 'minion', 'auth', 'key', 'local', 'syndic', 'job'],
  cluster: ['ret', 'syndic', 'local'],
};

/** Brings events, lists of minions and returns up one way, and keeps its place in the streams. */
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
      // A master above may be away for hours: the other relay must not bring the same as well.
      extendsAckWait: true,
      // A way that is not configured any more must not keep the streams from being trimmed.
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

  /** Runs until the signal is aborted; rejects only with a fault that a retry can not mend. */
  async run(signal: AbortSignal): Promise<void> {
    // Before anything is given back, or it would come here again.
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

  /** Gives back what was read ahead, so that the next relay need not wait for the timeout. */
  async #giveBack(): Promise<void> {
    for await (const batch of this.#events.batches(GROUP)) for (const one of batch) one.nak(0);
    if (this.#jobs !== undefined) for await (const one of this.#jobs) one.nak(0);
  }

  close(): void {
    this.#events.close();
    this.#jobs?.close();
  }
}
