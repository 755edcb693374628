import type { Again, AppendedJob, Published } from '@brine/bus/jobs';
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

/** The stream of jobs: `PublicationWriter`. */
export interface Publications {
  storedJob(seq: number): Promise<Job>;
  appendAgain(again: Again, options: { readonly slot: string }): Promise<unknown>;
}

/** The highest serial that was ever sent, stored outside of the stream. */
export interface HighWater {
  /** The serial of an epoch; 0 without a stored one. */
  read(epoch: number): Promise<number>;
  /** Stores it within a second; never throws. */
  note(epoch: number, serial: number): void;
}

/**
 * Asks the store for the jobs since a time without all returns: jid → minions that have not
 * returned. Undefined when the store does not answer.
 */
export type Unreturned = (
  sinceMs: number,
) => Promise<ReadonlyMap<string, readonly string[]> | undefined>;

/** Receives spans: `Telemetry`. */
export interface Spans {
  traces(jid: string): boolean;
  recordSpan(record: SpanRecord): void;
}

/** The state and the counts of a publisher. */
export interface PublisherStatus {
  readonly epoch: number;
  readonly lastSeq: number;
  readonly lastSerial: number;
  /** Publications sent, the repeated ones too. */
  readonly sent: number;
  readonly sentAgain: number;
  /** Not sent, because they were too old, or too many jobs followed. */
  readonly expired: number;
  /** Not sent, because the job was purged or could not be sealed or handled. */
  readonly lost: number;
  /** New AES keys because a clock went back. */
  readonly clockRotations: number;
}

/** An action from the store (libs/job-cache DurableTask). */
export interface DurableTask {
  readonly jid: string;
  readonly requestId: string;
  readonly turn: number;
  readonly look: number;
  readonly kind: 'ask' | 'send';
  readonly minions: readonly string[];
  /** The jid of the question. */
  readonly probe: string;
  readonly seq: number;
  readonly notAfter: number;
  /** The job as minions get it, less its serial. */
  readonly publication: Uint8Array;
}

/** The store of durable jobs. Both methods reject while it does not answer. */
export interface DurableStore {
  take(
    logIns: ReadonlyMap<string, number>,
    probe: string,
  ): Promise<{ readonly task: DurableTask | undefined; readonly open: number }>;
  confirm(task: DurableTask): Promise<void>;
}

/** The stream for questions and repetitions: `PublicationWriter`. */
export interface DurablePublications {
  appendJob(job: Job): Promise<Pick<AppendedJob, 'duplicate'>>;
  appendAgain(again: Again, options: { readonly slot: string }): Promise<unknown>;
}

/** Log-ins of minions as they happen, until it is closed. */
export interface LogIns extends AsyncIterable<{ readonly id: string; readonly atMs: number }> {
  close(): void;
}
