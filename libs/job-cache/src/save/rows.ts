import type { Job } from '@brine/job';

/** Where a row comes from in the stream: of several rows the lowest counts. */
export interface StreamPosition {
  /** Which life of the stream: a deleted and re-created one counts from 1 again. */
  readonly incarnation: string;
  readonly seq: number;
  /** The subject it was stored under, where that is known. */
  readonly subject?: string;
}

/** The fields of a job that every row has; a job that was born of a return lacks the others. */
type JobFields =
  | ('jid' | 'load' | 'principal' | 'user' | 'fun' | 'tgt' | 'tgtType')
  | ('minions' | 'missing' | 'publishedAt');

/** A job as a row: an adapter to SQL. Times are unix milliseconds. */
export interface JobRow extends StreamPosition, Pick<Job, JobFields> {
  /** From when on a return counts as late; undefined: never. */
  readonly deadlineAt?: number | undefined;
  /** From when on a publisher does not send it any more. */
  readonly notAfter?: number | undefined;
  /** find_job and the like. */
  readonly hidden?: boolean;
  readonly host?: string;
  readonly requestId?: string;
  /** True where there was no publication: salt-call, schedule, runner. Default false. */
  readonly bornOfReturn?: boolean;
  /**
   * The syndic that reported the job: `minions` are those that its master expects. They add to
   * those of the publication. Without a publication this is the job. Default: no syndic reported
   * it.
   */
  readonly syndic?: string;
}

/** One return event. */
export interface ReturnRow extends StreamPosition {
  readonly jid: string;
  /** The minion. */
  readonly id: string;
  /** The load of `_return` less `tok` and `nonce`, as raw msgpack. */
  readonly load: Uint8Array;
  /** When the stream stored it, unix milliseconds. */
  readonly receivedAt: number;
}

/** What is seen of minions between a publication and their returns (000004.sql). */
export type SightingKind =
  'running' | 'not_running' | 'refused' | 'expired' | 'sent_again' | 'below';

/** One thing that was seen of some minions of a job. */
export interface SightingRow {
  readonly jid: string;
  /** The minions; `['']` stands for the whole job. */
  readonly ids: readonly string[];
  readonly kind: SightingKind;
  /** Unix milliseconds. */
  readonly at: number;
  /** What more is known; beyond 1,000 bytes as JSON it is left out. */
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
   * `seen`: an event about minions (sightings, log-ins), or an act on record. `durable`: a job is
   * to be sent again. `stray`: a message of a stream that can not be read. `event`: a returner of
   * `event_return` refuses it.
   */
  readonly kind: 'job' | 'return' | 'seen' | 'durable' | 'stray' | 'event';
  readonly jid: string;
  /** The minion; '' for a job; the returner of an event. */
  readonly id: string;
  /** SQLSTATE, or what stands for it. The text may quote the row, so it is kept beside the row. */
  readonly state: string;
}

/** What became of a batch that was committed. */
export interface SaveReport {
  /** Rows that are new in the database. */
  readonly stored: number;
  /** Rows whose key was there already: redelivered, resent, or other returns kept as evidence. */
  readonly known: number;
  /** Of these, returns that took the place of a later one. */
  readonly replaced: number;
  readonly refused: readonly RefusedRow[];
}
