import type { EventKind } from '@brine/job';
import type { SaltMap } from '@brine/wire';
import type { Plain } from '../engine.ts';

/** An event to be delivered to an engine. */
export interface FedEvent {
  readonly kind: EventKind;
  readonly tag: string;
  /** Unix ms. */
  readonly timeMs: number;
  /** Reading resumes here after this event. */
  readonly position: string;
  readonly body: () => Promise<Uint8Array>;
}

/** A reader of the bus of the cluster. */
export interface EngineFeed {
  /**
   * Returns up to `max` events; an empty list if none arrives within `waitMs`. Rejects at its end.
   */
  take(max: number, waitMs: number): Promise<readonly FedEvent[]>;
  /** Reading resumes here: everything before it was taken or skipped. */
  readonly position: string;
  /** Reasons why events were not delivered, in sentences; each once. */
  takeNotices(): readonly string[];
  close(): void;
}

/** The access of engines to their master. */
export interface EnginePorts {
  readonly masterId: string;
  /** @param position where to resume; absent: only new events */
  openFeed(fits: (tag: string) => boolean, position: string | undefined): Promise<EngineFeed>;
  /** @param engine the name of its entry @throws Error if the engine has used its share */
  fire(tag: string, data: SaltMap, engine: string): Promise<void>;
  /** Calls a function as the master's own user. @throws Error with the text of its failure */
  call(called: {
    readonly kind: 'runner' | 'wheel';
    readonly fun: string;
    readonly args: readonly Plain[];
    readonly kwargs: { readonly [key: string]: Plain };
  }): Promise<Plain>;
  log(level: 'info' | 'warn' | 'error', text: string): void;
}

/** State that outlives the process of an engine. */
export interface EngineRecord {
  /** Position at which reading resumes; undefined at first. */
  readonly position: string | undefined;
  readonly saved: Plain;
}

/** Stores that record, in the process that has the engine. */
export interface RecordKeeper {
  readonly record: EngineRecord;
  /** Rejects if another process has the engine, or the bucket is unreachable. */
  keep(record: EngineRecord): Promise<void>;
}
