import type { Again, Published } from '@brine/bus/jobs';
import type { Job } from '@brine/job';
import type { AesEpoch } from '@brine/master-state';
import type { SpanRecord } from '@brine/telemetry';

/** The publications to send, in stream order. */
export type Feed = AsyncIterable<Published>;

/** Port 4505: `PublishServer`. */
export interface Subscribers {
  send(frames: readonly Uint8Array[]): Promise<void>;
}

/** The keys: `AesEpochs`. */
export interface Epochs {
  epochAt(seq: number): number;
  overtaking(seq: number, serial: number): number | undefined;
  keyOf(epoch: number): Promise<AesEpoch>;
  rotate(): Promise<AesEpoch>;
}

/** What was published: `PublicationWriter`. */
export interface Publications {
  storedJob(seq: number): Promise<Job>;
  appendAgain(again: Again, options: { readonly slot: string }): Promise<unknown>;
}

/** The highest serial that was ever sent, kept where it outlives the stream. */
export interface HighWater {
  /** For one epoch; 0 where none is kept. */
  read(epoch: number): Promise<number>;
  /** Keeps it, now or within a second; never throws. */
  note(epoch: number, serial: number): void;
}

/**
 * Jobs (by jid) that some minions have not returned, and these minions, by the store; undefined
 * when it does not say.
 */
export type Unreturned = (
  sinceMs: number,
) => Promise<ReadonlyMap<string, readonly string[]> | undefined>;

/** Where spans go: `Telemetry`. */
export interface Spans {
  traces(jid: string): boolean;
  recordSpan(record: SpanRecord): void;
}

/** What a publisher has done. */
export interface PublisherStatus {
  readonly epoch: number;
  readonly lastSeq: number;
  readonly lastSerial: number;
  /** Publications sent, the repeated ones too. */
  readonly sent: number;
  readonly sentAgain: number;
  /** Not sent, because they were too old, or too many jobs have come since. */
  readonly expired: number;
  /** Not sent, because the job was purged, can not be sealed or not be handled at all. */
  readonly lost: number;
  /** New AES keys because a clock went back. */
  readonly clockRotations: number;
}
