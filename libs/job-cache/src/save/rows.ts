import type { Job, JobOrigin } from '@brine/job';

/** The position of a row in the stream: of several rows the lowest counts. */
export interface StreamPosition {
  /** The incarnation of the stream: a deleted and re-created one counts from 1 again. */
  readonly incarnation: string;
  readonly seq: number;
  /** The subject of its message, if known. */
  readonly subject?: string;
}

/** The fields of every row of a job; a job that was born of a return lacks the others. */
type JobFields =
  | ('jid' | 'load' | 'principal' | 'user' | 'fun' | 'tgt' | 'tgtType')
  | ('minions' | 'missing' | 'publishedAt');

/** A job as a row. Times are unix milliseconds. */
export interface JobRow extends StreamPosition, Pick<Job, JobFields> {
  /** Later returns count as late; undefined: never. */
  readonly deadlineAt?: number | undefined;
  /** After this a publisher no longer sends the job. */
  readonly notAfter?: number | undefined;
  /** find_job and the like. */
  readonly hidden?: boolean;
  /** What began it; undefined: not known. */
  readonly origin?: JobOrigin | undefined;
  readonly host?: string;
  readonly requestId?: string;
  /** True without a publication: salt-call, schedule, runner. Default false. */
  readonly bornOfReturn?: boolean;
  /**
   * The syndic that reported the job: `minions` are those that its master expects. They add to
   * those of the publication. Without a publication this is the job. Default: no syndic.
   */
  readonly syndic?: string;
}

/** A return event as a row. */
export interface ReturnRow extends StreamPosition {
  readonly jid: string;
  /** The minion. */
  readonly id: string;
  /** The load of `_return` less `tok` and `nonce`, as raw msgpack. */
  readonly load: Uint8Array;
  /** When the stream stored it, unix milliseconds. */
  readonly receivedAt: number;
}

/** The kinds of sightings between a publication and the returns (000004.sql). */
export type SightingKind =
  'running' | 'not_running' | 'refused' | 'expired' | 'sent_again' | 'below';

/** A sighting of some minions of a job. */
export interface SightingRow {
  readonly jid: string;
  /** The minions; `['']` stands for the whole job. */
  readonly ids: readonly string[];
  readonly kind: SightingKind;
  /** Unix milliseconds. */
  readonly at: number;
  /** Further facts; beyond 1,000 bytes as JSON they are left out. */
  readonly detail?: Readonly<Record<string, string | number | boolean>>;
}

/** A minion logged in. */
export interface LogInRow {
  readonly id: string;
  /** Unix milliseconds. */
  readonly at: number;
}

/** A row that PostgreSQL (or the building of its statement) refused; its bytes are kept. */
export interface RefusedRow {
  /**
   * The kind of row.
   * - `seen`: an event about minions (sightings, log-ins), or an act on record.
   * - `durable`: a job that is to be sent again.
   * - `stray`: a message of a stream that can not be read.
   * - `event`: an event that a returner of `event_return` refuses.
   */
  readonly kind: 'job' | 'return' | 'seen' | 'durable' | 'stray' | 'event';
  readonly jid: string;
  /** The minion; '' for a job; the returner of an event. */
  readonly id: string;
  /** SQLSTATE, or its substitute. The text may quote the row, so it is kept beside the row. */
  readonly state: string;
}

/** The result of a committed batch. */
export interface SaveReport {
  /** Rows that are new in the database. */
  readonly stored: number;
  /** Rows whose key existed already: redelivered, resent, or other returns kept as evidence. */
  readonly known: number;
  /** How many of the known returns replaced a later one. */
  readonly replaced: number;
  readonly refused: readonly RefusedRow[];
}
