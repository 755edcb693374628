import { isJid } from '@brine/job';
import { listOf, mapOf, type SaltMap } from '@brine/wire';
import { buildErrorReply } from '@brine/wire/load';
import { authenticate, type ClearRequest, isStranger, refusalOf } from '../clear/caller.ts';
import { MasterUnavailableError } from '../errors.ts';
import type { MasterPorts } from '../ports/ports.ts';

/** Most jobs of one question. */
const JIDS_MAX = 500;

/**
 * Brine's own clear command `brine_own_jobs`: which of the given jobs its caller began, for a
 * service that shows events. Answers `{jids}`; a job of another user looks like one that is not
 * there.
 */
export async function ownJobs(
  ports: MasterPorts,
  request: ClearRequest,
  load: SaltMap,
): Promise<SaltMap> {
  const caller = await authenticate(ports, request, load);
  if (isStranger(caller)) return refusalOf(caller);
  const jids = listOf(load, 'jids');
  if (jids === undefined || jids.length > JIDS_MAX || !jids.every(isJid)) {
    ports.count('own_jobs_malformed');
    return buildErrorReply('SaltInvocationError', `jids is no list of up to ${JIDS_MAX} job ids`);
  }
  try {
    const own = await ports.jobs.ask('own', mapOf({ user: caller.principal, jids }));
    return mapOf({ jids: own });
  } catch (cause) {
    if (!(cause instanceof MasterUnavailableError)) throw cause;
    ports.count('own_jobs_unavailable');
    return buildErrorReply('SaltReqTimeoutError', `The job cache is unreachable: ${cause.message}`);
  }
}
