import { EVENT_REPLAY } from '../events/replay.ts';
import type { RunnerFunction } from '../function.ts';
import { JOBS_BY_CLIENT } from '../jobs/jobs.ts';
import { LEDGER_RUNNER } from '../jobs/ledger.ts';
import { QUARANTINE_RUNNER } from '../jobs/quarantine.ts';
import { VERIFY } from '../record/audit.ts';
import { STATE_EVENT } from '../state/event.ts';

/**
 * The functions that a command line runs itself. They stream to its terminal, need a key of its
 * host, or read the job cache page by page: a job's returns may be too large for an event. Only
 * commands import this entry, so that a command which asks the master need not load the whole
 * table.
 */
export const COMMAND_FUNCTIONS: readonly RunnerFunction[] = [
  ...JOBS_BY_CLIENT,
  ...LEDGER_RUNNER,
  ...QUARANTINE_RUNNER,
  EVENT_REPLAY,
  STATE_EVENT,
  VERIFY,
];
export {
  bindArguments,
  InvalidArgumentsError,
  invalidArgumentsText,
  splitKeywords,
  UnknownKeywordError,
} from '../arguments.ts';
export type { EventSearch } from '../events/event-source.ts';
export { followEvents, pageSource } from '../events/event-source.ts';
export { FROM_WORDS, fromArgument, toArgument } from '../events/from-argument.ts';
export { printable } from '../events/printable.ts';
