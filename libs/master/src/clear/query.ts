import { buildErrorReply, mapIn, mapOf, textOf, type SaltMap } from '@brine/wire';
import type { MasterPorts } from '../ports.ts';
import { refuseUnauthenticated } from './unauthorised.ts';

/** The questions a local user may ask; a closed list, never a subject made of received text. */
const QUERIES: ReadonlySet<string> = new Set(['list_jobs', 'get_jid', 'get_load', 'job']);

/**
 * Brine's own clear command `brine_query`: a question to the job cache, for `brine run` on the
 * master's host. Authenticated as a runner is.
 */
export async function query(ports: MasterPorts, load: SaltMap): Promise<SaltMap> {
  const refused = await refuseUnauthenticated(ports, load);
  if (refused !== undefined) return refused;
  const name = textOf(load, 'query');
  if (name === undefined || !QUERIES.has(name)) {
    return buildErrorReply('SaltInvocationError', 'Unknown query to the job cache');
  }
  try {
    return mapOf({ value: await ports.jobs.ask(name, mapIn(load, 'args') ?? mapOf({})) });
  } catch (cause) {
    ports.count('query_failed');
    const reason = cause instanceof Error ? cause.message : String(cause);
    return buildErrorReply('SaltReqTimeoutError', `The job cache did not answer: ${reason}`);
  }
}
