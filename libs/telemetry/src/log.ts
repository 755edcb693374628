import { isJid } from '@brine/job';
import { type DestinationStream, type Logger, pino } from 'pino';
import { jobTraceId } from './span.ts';

/** Salt's log levels (salt/_logging/impl.py), from all to nothing. */
export type SaltLogLevel =
  | 'all'
  | 'garbage'
  | 'trace'
  | 'debug'
  | 'profile'
  | 'info'
  | 'warning'
  | 'error'
  | 'critical'
  | 'quiet';

/** The log of a service. Searches use the fields `jid`, `minion` and `tag`; no payloads or keys. */
export type Log = Logger;

// Nothing is logged below trace or at profile, so these equal their neighbours.
const PINO_LEVELS: Readonly<Record<SaltLogLevel, string>> = {
  all: 'trace',
  garbage: 'trace',
  trace: 'trace',
  debug: 'debug',
  profile: 'info',
  info: 'info',
  warning: 'warn',
  error: 'error',
  critical: 'fatal',
  quiet: 'silent',
};

/** Field names whose values are never written, wherever code puts them by mistake. */
const SECRET_FIELDS = ['key', 'aes', 'tok', 'token', 'password', 'load', 'payload', 'body'];

/** The options of createLog. */
export interface LogOptions {
  readonly service: string;
  readonly level: SaltLogLevel;
  /** Default standard error: standard output belongs to results. */
  readonly destination?: DestinationStream;
}

/** Makes a log that writes one JSON object per line. */
export function createLog({ service, level, destination }: LogOptions): Log {
  const options = {
    level: PINO_LEVELS[level],
    base: { service },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }), log: withTrace },
    serializers: { err: errorFields },
    redact: { paths: SECRET_FIELDS, censor: '[left out]' },
  };
  // Written at once: a line that explains a crash must not be lost with the process.
  return pino(options, destination ?? pino.destination({ dest: 2, sync: true }));
}

/** A line of a job names the job's trace. */
function withTrace(fields: Record<string, unknown>): Record<string, unknown> {
  const { jid } = fields;
  return isJid(jid) ? { ...fields, trace_id: jobTraceId(jid) } : fields;
}

/** Causes of an error that are logged. */
const CAUSES_MAX = 4;

/**
 * An error by its name, code, text and place, and nothing else. The `detail` and `where` of a
 * PostgreSQL error, and other fields of errors, may contain a minion's return.
 */
function errorFields(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return typeof error === 'string' ? error : String(error);
  const { name, message, stack, cause } = error;
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {};
  const facts =
    cause === undefined || depth >= CAUSES_MAX ? {} : { cause: errorFields(cause, depth + 1) };
  return { type: name, message, ...code, stack, ...facts };
}
