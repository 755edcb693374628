import type { SaltMap } from '@brine/wire';
import type { PublishRequest } from '@brine/wire/load';

/**
 * What became of a request to a master above: it has it, it refuses it, or it is away, and then
 * whether it has the request is unknown.
 */
export type Sent = 'taken' | 'refused' | 'away';

/** One master above, or several that stand for each other. */
export interface MasterAbove {
  /** Sends one request once, however long that takes; never rejects. */
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
  /** Of the data, in bytes. */
  readonly size: number;
  /** When this master had it, in ms since 1970. */
  readonly timeMs: number;
  /** Undefined where it can not be read (any more). */
  data(): Promise<SaltMap | undefined>;
  /** The stream need not keep it any longer. */
  ack(): void;
  /** It shall come again. */
  giveBack(): void;
}

/** A job as it is known here. */
export interface KnownJob {
  /** The masters above that asked for it, by their tokens; none for a job of this master's own. */
  readonly askers: ReadonlySet<string>;
  /** The load as this master keeps it, with `Minions`; undefined where it keeps none. */
  readonly load: SaltMap | undefined;
}

/** Where jobs are looked up. */
export interface Jobs {
  /** Undefined if only returns of the job are known; never rejects. */
  find(jid: string): Promise<KnownJob | undefined>;
}

/** How a job came to be published here. */
export type PublishedBelow = 'published' | 'nobody' | 'refused' | 'away';

/** This master, as its own local clients have it. */
export interface MasterBelow {
  /**
   * Publishes a job; the same `id` publishes it once, whichever relay asks. `nobody`: no minion
   * matches.
   * Never rejects.
   */
  publish(request: PublishRequest, id: string): Promise<PublishedBelow>;
}

/** Time, replaceable in tests. */
export interface Clock {
  nowMs(): number;
  /** Rejects with the signal's reason when it is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** Where the relay writes what it does; pino fits. */
export interface RelayLog {
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
  error(fields: object, text: string): void;
}
