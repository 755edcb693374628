import { readsAll } from '@brine/acl';
import { errorText } from '@brine/tasks';
import {
  checkQuestion,
  isMap,
  mapOf,
  type SaltMap,
  type SaltValue,
  textOf,
  WireError,
} from '@brine/wire';
import { buildErrorReply } from '@brine/wire/load';
import { MasterUnavailableError } from '../errors.ts';
import type { MasterPorts } from '../ports/ports.ts';
import { whySilent } from '../reads/why-silent.ts';
import { authenticate, type ClearRequest, isStranger, notAllowed, refusalOf } from './caller.ts';
import { callTheRoll, listMinions } from './cluster-state.ts';
import { deleteToken } from './tokens.ts';

/** The questions of local users; a closed list, never a subject made of received text. */
const QUERIES: ReadonlySet<string> = new Set([
  'list_jobs',
  'get_jid',
  'get_load',
  'job',
  'ledger',
  'database',
  'durable',
  'at',
  'export',
  'import',
  'quarantine',
  'quarantine_retry',
  'quarantine_drop',
  'audit',
  'audit_newest',
  'last_log_ins',
  'end_time',
]);

/** Questions whose answers contain data of the master itself. */
const OWN_QUERIES: ReadonlyMap<string, (ports: MasterPorts, args: SaltMap) => Promise<SaltValue>> =
  new Map([
    ['why', whySilent],
    ['del_token', deleteToken],
    ['roll', callTheRoll],
    ['minions', listMinions],
  ]);

/** Questions that do not use the job cache. */
const OF_CLUSTER: ReadonlySet<string> = new Set(['roll', 'minions']);

/** No runner does these: they need a local key, even with all rights that a log-in can have. */
const OF_KEY: ReadonlySet<string> = new Set(['import', 'del_token']);

/** Advice for readers of an unreachable job cache. */
const MEANWHILE = 'Jobs continue and returns are kept; ask again when it is back.';

/**
 * Brine's own clear command `brine_query`: a question to the job cache, for `brine run` on the
 * master's host. Authenticated as a runner is.
 */
export async function query(
  ports: MasterPorts,
  request: ClearRequest,
  load: SaltMap,
): Promise<SaltMap> {
  const caller = await authenticate(ports, request, load);
  if (isStranger(caller)) return refusalOf(caller);
  const name = textOf(load, 'query');
  // A caller with limited rights must use a runner, where its arguments were judged.
  const isLimited = caller.acl !== undefined && caller.via === undefined;
  const mayAsk = readsAll(caller.acl) && !OF_KEY.has(name ?? '');
  if (isLimited && !mayAsk && !isLogOut(name, load)) return refusalOf(notAllowed(caller));
  const own = OWN_QUERIES.get(name ?? '');
  if (name === undefined || (own === undefined && !QUERIES.has(name))) {
    return buildErrorReply('SaltInvocationError', 'Unknown query to the job cache');
  }
  const args = load.get('args') ?? mapOf({});
  if (!isMap(args)) {
    return buildErrorReply('SaltInvocationError', 'args must be formatted as a dictionary');
  }
  try {
    checkQuestion(args, name);
    return mapOf({ value: await (own?.(ports, args) ?? ports.jobs.ask(name, args)) });
  } catch (cause) {
    return refusalOfQuestion(ports, cause, name);
  }
}

/** The answer to a question that failed. */
export function refusalOfQuestion(ports: MasterPorts, cause: unknown, name = ''): SaltMap {
  if (cause instanceof WireError) {
    ports.count('query_malformed');
    return buildErrorReply('SaltInvocationError', cause.message);
  }
  ports.count('query_failed');
  const reason = errorText(cause);
  if (OF_CLUSTER.has(name)) return buildErrorReply('SaltRunnerError', reason);
  if (name === 'services') return buildErrorReply('SaltReqTimeoutError', reason);
  if (cause instanceof MasterUnavailableError) {
    const text = `The job cache is unreachable: ${reason}. ${MEANWHILE}`;
    return buildErrorReply('SaltReqTimeoutError', text);
  }
  return buildErrorReply('SaltRunnerError', `The job cache could not answer: ${reason}`);
}

/** True for a request that revokes the very token that proves its caller: anyone may log out. */
function isLogOut(name: string | undefined, load: SaltMap): boolean {
  const args = load.get('args') ?? null;
  const token = textOf(load, 'token');
  return name === 'del_token' && token !== undefined && isMap(args) && args.get('token') === token;
}
