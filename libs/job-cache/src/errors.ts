/** The conditions in which the job cache can not do what was asked. */
export type JobCacheErrorCode =
  /** PostgreSQL is away, starting, stopping or full: the same call may succeed later. */
  | 'SALT_JOBCACHE_AWAY'
  /** The database was migrated by a newer release than this one. */
  | 'SALT_JOBCACHE_SCHEMA_NEWER'
  /** A migration that was already applied has another text now. */
  | 'SALT_JOBCACHE_SCHEMA_CHANGED'
  /** A migration failed. */
  | 'SALT_JOBCACHE_MIGRATION'
  /** The embedded PostgreSQL could not be set up or started. */
  | 'SALT_JOBCACHE_EMBEDDED'
  /** PostgreSQL refused a query of ours: a fault of this program. */
  | 'SALT_JOBCACHE_QUERY'
  /** PostgreSQL did not answer a question in time: what it asks for is too much. */
  | 'SALT_JOBCACHE_SLOW'
  /** PostgreSQL refuses what a row holds, and would at every try. */
  | 'SALT_JOBCACHE_REFUSED';

/** What every function of this library throws when it can not do its work. */
export class JobCacheError extends Error {
  override readonly name = 'JobCacheError';
  readonly code: JobCacheErrorCode;
  /** True where the same call may succeed later, unchanged. */
  readonly retryable: boolean;
  /** The SQLSTATE of PostgreSQL, or the code of the operating system; empty when there is none. */
  readonly sqlState: string;

  constructor(code: JobCacheErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.retryable = code === 'SALT_JOBCACHE_AWAY';
    this.sqlState = stateOf(cause);
  }
}

/** The SQLSTATE (or the operating system's error code) of anything that was thrown. */
export function stateOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
}

/**
 * Whether PostgreSQL (or the building of the statement) refused what a row holds, so that the row
 * would be refused at every try: bad data (22), broken constraints (23), program limits (54),
 * an allocation above 1 GB, a text above the limit of JavaScript's strings.
 */
export function isRefusedRow(error: unknown): boolean {
  if (error instanceof RangeError) return true;
  const state = stateOf(error);
  if (/^(22|23|54)[0-9A-Z]{3}$/.test(state)) return true;
  return state === 'XX000' && /invalid memory alloc request size/.test(messageOf(error));
}

/** Whether a statement took longer than it may; waits for locks end sooner, with another state. */
export function isTooSlow(error: unknown): boolean {
  return stateOf(error) === '57014';
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** As {@link asJobCacheError}, of statements whose rows can be given one by one to find the bad. */
export function asRowError(error: unknown): JobCacheError {
  if (error instanceof JobCacheError || !isRefusedRow(error)) return asJobCacheError(error);
  return new JobCacheError('SALT_JOBCACHE_REFUSED', messageOf(error), error);
}

/**
 * Wraps what `pg` threw. Only faults of the statement itself (class 42, an unknown table or column,
 * and 0A, not supported) are final. Everything else is an outage: a wrong "final" loses rows, and a
 * wrong "later" only waits.
 */
export function asJobCacheError(error: unknown): JobCacheError {
  if (error instanceof JobCacheError) return error;
  const state = stateOf(error);
  const final = /^(42|0A)[0-9A-Z]{3}$/.test(state);
  const text = messageOf(error) || state || 'PostgreSQL is away';
  return new JobCacheError(final ? 'SALT_JOBCACHE_QUERY' : 'SALT_JOBCACHE_AWAY', text, error);
}
