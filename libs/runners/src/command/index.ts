import type { RunnerFunction } from '../function.ts';
import { LIST_JOBS } from '../jobs/jobs.ts';
import { VERIFY } from '../record/audit.ts';
import { STATE_EVENT } from '../state/event.ts';

/**
 * The functions that a command line runs itself. A door of its own: a command that only asks the
 * master need not load the whole table.
 */
export const COMMAND_FUNCTIONS: readonly RunnerFunction[] = [LIST_JOBS, VERIFY, STATE_EVENT];
export {
  bindArguments,
  InvalidArgumentsError,
  invalidArgumentsText,
  splitKeywords,
  UnknownKeywordError,
} from '../arguments.ts';
