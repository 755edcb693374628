import { type LoadSettings, type NodegroupError, publishLoad } from '@brine/client';
import { isMap, listOf, mapIn, mapOf, type SaltMap, textOf, unpack, WireError } from '@brine/wire';
import { disabledText } from '../../clients/low.ts';
import type { Session } from '../../sessions/sessions.ts';
import { RefusedRequest } from '../problem.ts';

/** A clear command that may come through this API. */
interface CommandRule {
  /** The clients of `netapi_enable_clients` of which one must be enabled; empty: none is needed. */
  readonly clients: readonly string[];
  /** True if it has the form of a publish: its credentials are in `kwargs`, and it has a target. */
  readonly isPublish: boolean;
}

const PUBLISHED = ['local', 'local_async'];

/** The closed list. Log-ins, tokens and rights have routes of their own. */
const COMMANDS: ReadonlyMap<string, CommandRule> = new Map([
  ['publish', { clients: PUBLISHED, isPublish: true }],
  ['brine_resolve', { clients: PUBLISHED, isPublish: true }],
  ['brine_batch', { clients: ['local', 'local_batch'], isPublish: true }],
  ['runner', { clients: ['runner', 'runner_async'], isPublish: false }],
  ['brine_query', { clients: ['runner'], isPublish: false }],
  ['wheel', { clients: ['wheel', 'wheel_async'], isPublish: false }],
  ['brine_events', { clients: [], isPublish: false }],
]);

/** Fields by which a load proves its caller. */
const CREDENTIALS = ['token', 'eauth', 'username', 'password', 'key'];

/** A load that was checked, ready for a worker. */
export interface CommandLoad {
  readonly load: SaltMap;
  readonly isPublish: boolean;
}

/**
 * Reads the load of a command: one of a closed list, without credentials, of an enabled client.
 * Then the caller of the session is the caller of the load.
 * @param base64 the packed load
 * @throws RefusedRequest; NodegroupError for a node group that is not configured
 */
export function commandLoad(
  base64: string,
  session: Pick<Session, 'token' | 'user'>,
  { enabled, settings }: { readonly enabled: readonly string[]; readonly settings: LoadSettings },
): CommandLoad {
  const load = readLoad(base64);
  const cmd = textOf(load, 'cmd') ?? '';
  const rule = COMMANDS.get(cmd);
  if (rule === undefined) {
    throw new RefusedRequest('bad-request', 'This command does not come through the API.');
  }
  refuseCredentials(load, rule);
  const { clients, isPublish } = rule;
  const [first] = clients;
  if (first !== undefined && !clients.some((name) => enabled.includes(name))) {
    throw new RefusedRequest('forbidden', disabledText(first));
  }
  load.delete('key');
  load.set('user', session.user);
  if (!isPublish) return { load: load.set('token', session.token), isPublish };
  const kwargs: SaltMap = new Map(mapIn(load, 'kwargs'));
  load.set('kwargs', kwargs.set('token', session.token));
  expandTarget(load, settings);
  return { load, isPublish };
}

function readLoad(base64: string): SaltMap {
  try {
    const load = unpack(Buffer.from(base64, 'base64'));
    if (isMap(load)) return load;
  } catch (cause) {
    if (!(cause instanceof WireError)) throw cause;
  }
  throw new RefusedRequest('bad-request', 'The load is no packed map.');
}

/** The session is the one proof. An empty key is what a command without a key file has. */
function refuseCredentials(load: SaltMap, { isPublish }: CommandRule): void {
  const places = isPublish ? [load, mapIn(load, 'kwargs') ?? mapOf({})] : [load];
  const isProven = places.some((place) =>
    CREDENTIALS.some((name) => place.has(name) && !(name === 'key' && place.get(name) === '')),
  );
  if (!isProven) return;
  throw new RefusedRequest(
    'bad-request',
    'A load has no credentials: the session proves who asks.',
  );
}

/** Commands elsewhere do not know the node groups, which `salt` expands on the master's host. */
function expandTarget(load: SaltMap, settings: LoadSettings): void {
  const tgtType = textOf(load, 'tgt_type');
  if (tgtType !== 'nodegroup' && tgtType !== 'compound') return;
  const list = (listOf(load, 'tgt') ?? []).filter((one) => typeof one === 'string');
  const tgt = textOf(load, 'tgt') ?? list;
  const expanded = publishLoad({ tgt, tgtType, fun: '', arg: [] }, '', settings);
  for (const name of ['tgt', 'tgt_type']) load.set(name, expanded.get(name) ?? null);
}

/** The answer for a node group that is not configured, in the form of a worker's. */
export function refusedNodegroup({ name, message }: NodegroupError): SaltMap {
  return mapOf({ error: mapOf({ name, message }) });
}
