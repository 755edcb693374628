import { checkQuestion, isMap, mapOf, type SaltMap, textOf } from '@brine/wire';
import { buildErrorReply } from '@brine/wire/load';
import {
  authenticate,
  type ClearRequest,
  isStranger,
  notAllowed,
  refusalOf,
} from '../clear/caller.ts';
import { refusalOfQuestion } from '../clear/query.ts';
import type { MasterPorts } from '../ports/ports.ts';
import { FUNCTION_READS } from './function-reads.ts';
import { JOB_READS, type Read } from './job-reads.ts';
import { readerOf } from './job-sight.ts';
import { MINION_READS } from './minion-parts.ts';
import { ReadNotAllowedError } from './minion-sight.ts';
import { ownJobs } from './own-jobs.ts';
import { RUN_READS } from './run-reads.ts';
import { SITE_READS } from './site-reads.ts';

const READS: ReadonlyMap<string, Read> = new Map([
  ...JOB_READS,
  ...RUN_READS,
  ...SITE_READS,
  ...FUNCTION_READS,
  ...MINION_READS,
  ['own_jobs', ownJobs] as const,
]);

/**
 * Brine's own clear command `brine_read`: what is on record, within the rights to read of its
 * caller, for a service that shows it. `{read, args}` → `{value}`; null for what is not there, and
 * for what the caller may not see.
 */
export async function read(
  ports: MasterPorts,
  request: ClearRequest,
  load: SaltMap,
): Promise<SaltMap> {
  const caller = await authenticate(ports, request, load);
  if (isStranger(caller)) return refusalOf(caller);
  const name = textOf(load, 'read') ?? '';
  const wanted = READS.get(name);
  const args = load.get('args') ?? mapOf({});
  if (wanted === undefined || !isMap(args)) {
    return buildErrorReply('SaltInvocationError', 'Unknown read');
  }
  try {
    checkQuestion(args, name);
    return mapOf({ value: await wanted(ports, await readerOf(ports, caller), args) });
  } catch (cause) {
    if (cause instanceof ReadNotAllowedError) {
      return buildErrorReply('AuthorizationError', notAllowed(caller).message);
    }
    return refusalOfQuestion(ports, cause, name);
  }
}
