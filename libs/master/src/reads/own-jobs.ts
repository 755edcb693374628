import { isJid } from '@brine/job';
import { listOf, mapOf, type SaltMap, type SaltValue, WireError } from '@brine/wire';
import type { MasterPorts } from '../ports/ports.ts';
import type { JobReader } from './job-sight.ts';

/** Most jobs of one question. */
const JIDS_MAX = 500;

/**
 * `{jids}` → `{jids}`: which of these jobs the caller began, for a service that shows events. A job
 * of another user looks like one that is not there.
 * @throws WireError for what is no list of up to 500 job ids
 */
export async function ownJobs(
  ports: MasterPorts,
  { rights }: JobReader,
  args: SaltMap,
): Promise<SaltValue> {
  const jids = listOf(args, 'jids');
  if (jids === undefined || jids.length > JIDS_MAX || !jids.every(isJid)) {
    throw new WireError('SALT_WIRE_FIELD', `jids is no list of up to ${JIDS_MAX} job ids`);
  }
  const own = await ports.jobs.ask('own', mapOf({ user: rights.principal, jids }));
  return mapOf({ jids: own });
}
