import { errorText } from '@brine/tasks';
/** The conditions in which the job cache can not do what was asked. */
export type JobCacheErrorCode =
  /** PostgreSQL is unreachable, starting, stopping or full: the same call may succeed later. */
  | 'SALT_JOBCACHE_AWAY'
  /** The database was migrated by a newer release than this one. */
  | 'SALT_JOBCACHE_SCHEMA_NEWER'
  /** A migration that was already applied has another text now. */
  | 'SALT_JOBCACHE_SCHEMA_CHANGED'
  /** A migration failed. */
  | 'SALT_JOBCACHE_MIGRATION'
  /** The embedded PostgreSQL could not be set up or started. */
  | 'SALT_JOBCACHE_EMBEDDED'
  /** PostgreSQL refused a query of Brine: a fault of this program, of the schema or of rights. */
  | 'SALT_JOBCACHE_QUERY'
  /** A question took PostgreSQL too long: ask for less. */
  | 'SALT_JOBCACHE_SLOW'
  /** PostgreSQL refuses the content of a row, and would at every try. */
  | 'SALT_JOBCACHE_REFUSED';

const REFUSED_CODES: ReadonlySet<JobCacheErrorCode> = new Set([
  'SALT_JOBCACHE_QUERY',
  'SALT_JOBCACHE_REFUSED',
]);

/** The error of every function of this library. */
export class JobCacheError extends Error {
  override readonly name = 'JobCacheError';
  readonly code: JobCacheErrorCode;
  /** True where the same call may succeed later, unchanged. */
  readonly retryable: boolean;
  /** The SQLSTATE of PostgreSQL, or the code of the operating system; empty if absent. */
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
 * SQLSTATE classes of statements that fail at every try: cardinality (21), data (22), constraints
 * (23, 27, 44), errors raised by functions and triggers (38, 39, P0), names and rights (42), limits
 * (54), not supported (0A).
 */
const REFUSALS = /^(21|22|23|27|38|39|42|44|54|0A|P0)[0-9A-Z]{3}$/;

/** Classes that concern the statement and the schema rather than the content of a row. */
const OF_THE_SCHEMA = /^(42|0A)[0-9A-Z]{3}$/;

/**
 * True if PostgreSQL, or the building of the statement, would refuse the input at every try. This
 * covers {@link REFUSALS}, an allocation above 1 GB, a text above the limit of JavaScript's
 * strings, and a value that fits no statement.
 */
export function isRefused(error: unknown): boolean {
  if (error instanceof JobCacheError) return REFUSED_CODES.has(error.code);
  if (error instanceof RangeError || error instanceof TypeError) return true;
  const state = stateOf(error);
  if (REFUSALS.test(state)) return true;
  return state === 'XX000' && /invalid memory alloc request size/.test(errorText(error));
}

/** True if a statement reached its time limit. Waits for locks end earlier, with another state. */
export function isTooSlow(error: unknown): boolean {
  return stateOf(error) === '57014';
}

/**
 * Wraps an error of `pg`. A refusal ({@link isRefused}) is final. Every other error is an outage:
 * nothing is lost by trying later.
 */
export function asJobCacheError(error: unknown): JobCacheError {
  if (error instanceof JobCacheError) return error;
  const state = stateOf(error);
  const text = errorText(error) || state || 'PostgreSQL is unreachable';
  return new JobCacheError(codeOf(error, state), text, error);
}

function codeOf(error: unknown, state: string): JobCacheErrorCode {
  if (!isRefused(error)) return 'SALT_JOBCACHE_AWAY';
  return OF_THE_SCHEMA.test(state) ? 'SALT_JOBCACHE_QUERY' : 'SALT_JOBCACHE_REFUSED';
}
