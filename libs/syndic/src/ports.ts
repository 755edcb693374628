import type { SaltMap } from '@brine/wire';
import type { PublishRequest } from '@brine/wire/load';

/**
 * The outcome of a request to a master above: it took it, it refused it, or it is unreachable. In
 * the last case the master may have it or not.
 */
export type Sent = 'taken' | 'refused' | 'away';

/** A master above, or several that replace each other. */
export interface MasterAbove {
  /** Sends a request once, without a time limit; never rejects. */
  send(load: SaltMap, signal: AbortSignal): Promise<Sent>;
}

/** An event of this master on its way up. */
export interface EventToForward {
  /** The same for each delivery of the event. */
  readonly key: string;
  readonly tag: string;
  /** Set for a return. */
  readonly jid: string | undefined;
  readonly minion: string | undefined;
  /** The size of the data, in bytes. */
  readonly size: number;
  /** The time in this master's stream, in ms since 1970. */
  readonly timeMs: number;
  /** Undefined if unreadable or gone. */
  data(): Promise<SaltMap | undefined>;
  /** The stream may drop it. */
  ack(): void;
  /** The stream has to deliver it again. */
  giveBack(): void;
}

/** The record of a job here. */
export interface KnownJob {
  /** The tokens of the masters above that asked for it; empty for a job of this master. */
  readonly askers: ReadonlySet<string>;
  /** The load in this master's job cache, with `Minions`; undefined without one. */
  readonly load: SaltMap | undefined;
}

/** Looks up jobs. */
export interface Jobs {
  /** Undefined if only returns of the job are known; never rejects. */
  find(jid: string): Promise<KnownJob | undefined>;
}

/** The outcome of publishing a job here. */
export type PublishedBelow = 'published' | 'nobody' | 'refused' | 'away';

/** This master, as its local clients use it. */
export interface MasterBelow {
  /**
   * Publishes a job; calls of several relays with the same `id` publish it once. `nobody`: no
   * minion matches. Never rejects.
   */
  publish(request: PublishRequest, id: string): Promise<PublishedBelow>;
}

/** Time, replaceable in tests. */
export interface Clock {
  nowMs(): number;
  /** Rejects with the signal's reason when it is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}
