import { BusError } from '@brine/bus';
import { OthersPathError } from '@brine/files';
import { ExchangeError, JobCacheError } from '@brine/job-cache';
import { MasterUnavailableError } from '@brine/master';
import { PkiError } from '@brine/pki';
import { HostTakenError } from '@brine/service/processes';
import { deniedAdvice } from '../denied.ts';
import { EXIT, Exit } from '../exit-codes.ts';
import { refused } from './refused.ts';

/** What to do about errors of the file system. */
const ADVICE: Readonly<Record<string, string>> = {
  EACCES: deniedAdvice(),
  EPERM: deniedAdvice(),
  ENOSPC: 'make room, then do it again',
  EDQUOT: 'make room, then do it again',
  EROFS: 'the file system is read-only',
};

/**
 * An error of the world outside as one line that says what to do; a fault of this program stays
 * what it is, unless there is more to say.
 * @param more what the operator must know beside the cause
 */
export function inWords(error: unknown, more = ''): unknown {
  if (error instanceof Exit) {
    return more === '' ? error : new Exit(error.code, `${error.text.trimEnd()}${more}\n`);
  }
  if (error instanceof HostTakenError) {
    return refused(`${error.lines.join('; ')}${more}`, EXIT.portsTaken);
  }
  if (error instanceof BusError || error instanceof MasterUnavailableError) {
    return refused(`NATS: ${error.message}${more}`);
  }
  if (error instanceof JobCacheError) return refused(`PostgreSQL: ${error.message}${more}`);
  if (error instanceof ExchangeError) return refused(`the job cache: ${error.message}${more}`);
  if (error instanceof PkiError || error instanceof OthersPathError) {
    return refused(`${error.message}${more}`);
  }
  const advice = error instanceof Error && 'code' in error ? ADVICE[String(error.code)] : undefined;
  if (advice !== undefined) return refused(`${(error as Error).message}: ${advice}${more}`);
  // A fault of this program; but an operator without any master has to know that first.
  return more === '' ? error : refused(`${String(error)}${more}`);
}
