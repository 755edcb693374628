import type { EventKind } from '@brine/job';
import type { SaltMap } from '@brine/wire';
import type { Plain } from '../engine.ts';

/** An event on its way to an engine. */
export interface FedEvent {
  readonly kind: EventKind;
  readonly tag: string;
  /** Unix ms. */
  readonly timeMs: number;
  /** Reading goes on after this event from here. */
  readonly position: string;
  readonly body: () => Promise<Uint8Array>;
}

/** A reader of the bus of the cluster. */
export interface EngineFeed {
  /** Up to `max` events; none where none came within `waitMs`. Rejects when it is over. */
  take(max: number, waitMs: number): Promise<readonly FedEvent[]>;
  /** Reading goes on from here: everything before it was taken or passed over. */
  readonly position: string;
  /** What the reader does not get, in sentences; each once. */
  takeNotices(): readonly string[];
  close(): void;
}

/** What engines reach in their master. */
export interface EnginePorts {
  readonly masterId: string;
  /** @param position where to go on; absent: what comes from now on */
  openFeed(fits: (tag: string) => boolean, position: string | undefined): Promise<EngineFeed>;
  /** @param engine the name of its entry @throws Error where the engine has had its share */
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

/** What outlives the process of an engine. */
export interface EngineRecord {
  /** Where the reading of events goes on; undefined at first. */
  readonly position: string | undefined;
  readonly saved: Plain;
}

/** Keeps that record; for the process that has the engine. */
export interface RecordKeeper {
  readonly record: EngineRecord;
  /** Rejects where the engine is another process's, or the bucket is away. */
  keep(record: EngineRecord): Promise<void>;
}
