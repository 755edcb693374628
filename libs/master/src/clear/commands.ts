import { buildErrorReply, mapOf, textOf, type SaltMap, type SaltValue } from '@brine/wire';
import { MasterUnavailableError } from '../errors.ts';
import type { MasterPorts, Request } from '../ports.ts';
import type { AnswerAbout } from '../trace-ports.ts';
import { publish } from './publish.ts';
import { query } from './query.ts';
import { getToken, makeToken } from './tokens.ts';
import { authenticate, isStranger, refusalOf } from './caller.ts';

/** Answer of a clear command: plain msgpack, unsigned. */
export interface ClearResult {
  readonly value: SaltValue;
  /** For its trace. */
  readonly about?: AnswerAbout;
}

type ClearCommand = (
  ports: MasterPorts,
  request: Request,
  load: SaltMap,
) => Promise<ClearResult> | ClearResult;

/** Runners and wheels run inside `brine run` and `brine key` in this version, not over 4506. */
const notServed =
  (kind: string): ClearCommand =>
  async (ports, _request, load) => {
    const caller = await authenticate(ports, load);
    if (isStranger(caller)) return { value: refusalOf(caller) };
    const message = `This master does not serve ${kind} functions on its request port`;
    return { value: buildErrorReply('SaltInvocationError', message) };
  };

/**
 * A publish is answered with a text when the stream is away: it is clear then that nothing hangs.
 */
const publishOrText: ClearCommand = async (ports, request, load) => {
  try {
    return await publish(ports, request, load);
  } catch (cause) {
    if (!(cause instanceof MasterUnavailableError)) throw cause;
    ports.count('publish_unavailable');
    return { value: mapOf({ error: `The job could not be published: ${cause.message}` }) };
  }
};

const queryWithTrace: ClearCommand = async (ports, _request, load) => {
  const link = textOf(load, 'traceparent');
  const about = { kind: 'query', ...(link === undefined ? {} : { link }) } as const;
  return { value: await query(ports, load), about };
};

/**
 * The closed table of clear commands (salt/master.py `ClearFuncs.expose_methods`, CVE-2020-11651),
 * with Brine's own `brine_query`.
 */
const COMMANDS: ReadonlyMap<string, ClearCommand> = new Map<string, ClearCommand>([
  ['ping', (_ports, _request, load) => ({ value: load })],
  ['publish', publishOrText],
  ['runner', notServed('runner')],
  ['wheel', notServed('wheel')],
  ['mk_token', async (ports, _request, load) => ({ value: await makeToken(ports, load) })],
  ['get_token', async (ports, _request, load) => ({ value: await getToken(ports, load) })],
  ['brine_query', queryWithTrace],
]);

/** Runs a clear command; an unknown one, or none, answers an empty map, as Salt does. */
export async function runClearCommand(
  ports: MasterPorts,
  request: Request,
  load: SaltMap,
): Promise<ClearResult> {
  const name = load.get('cmd');
  const command = typeof name === 'string' ? COMMANDS.get(name) : undefined;
  if (typeof name !== 'string' || command === undefined) {
    ports.count('clear_unknown_command');
    return { value: mapOf({}) };
  }
  const start = performance.now();
  try {
    return await command(ports, request, load);
  } finally {
    ports.handled?.(name, performance.now() - start);
  }
}
