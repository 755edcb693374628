import { checkNames, mapOf, type SaltMap, type SaltValue, textOf, WireError } from '@brine/wire';
import { buildErrorReply } from '@brine/wire/load';
import { recordClear } from '../audit-records.ts';
import { MasterUnavailableError } from '../errors.ts';
import type { AnswerAbout, MasterPorts } from '../ports/ports.ts';
import { read } from '../reads/read.ts';
import { rights } from '../reads/rights.ts';
import { isTooMuchWork, refuseWork, TOO_MUCH_WORK } from '../too-much-work.ts';
import { batch, resolve } from './batch.ts';
import { busEvents } from './bus-events.ts';
import type { ClearRequest, Proven } from './caller.ts';
import { publish } from './publish.ts';
import { query } from './query.ts';
import { runner, wheel } from './special.ts';
import { beginElsewhere, getToken, keepCode, makeToken } from './tokens.ts';

/** Answer of a clear command: plain msgpack, unsigned. */
export interface ClearResult {
  readonly value: SaltValue;
  /** For its trace. */
  readonly about?: AnswerAbout;
}

type ClearCommand = (
  ports: MasterPorts,
  request: ClearRequest,
  load: SaltMap,
) => Promise<ClearResult> | ClearResult;

/** Wraps a command that answers a map and has no trace. */
const answering =
  (
    command: (ports: MasterPorts, request: ClearRequest, load: SaltMap) => Promise<SaltValue>,
  ): ClearCommand =>
  async (ports, request, load) => ({ value: await command(ports, request, load) });

/** If the stream is unreachable, a publish is answered with a text, so that no client hangs. */
const publishOrText: ClearCommand = async (ports, request, load) => {
  try {
    return await publish(ports, request, load);
  } catch (cause) {
    if (!(cause instanceof MasterUnavailableError)) throw cause;
    ports.count('publish_unavailable');
    return { value: mapOf({ error: `The job could not be published: ${cause.message}` }) };
  }
};

const queryWithTrace: ClearCommand = async (ports, request, load) => {
  const link = textOf(load, 'traceparent');
  const about = { kind: 'query', ...(link === undefined ? {} : { link }) } as const;
  return { value: await query(ports, request, load), about };
};

/** Salt's answers to a load with invalid names. */
const MALFORMED: ReadonlyMap<string, (text: string) => SaltValue> = new Map<
  string,
  (text: string) => SaltValue
>([
  ['publish', (text) => mapOf({ error: text })],
  ['mk_token', () => ''],
  ['get_token', () => mapOf({})],
]);

/** Checks names before anything is looked up or stored. */
function malformed(ports: MasterPorts, cmd: string, load: SaltMap): ClearResult | undefined {
  // A ping uses no field.
  if (cmd === 'ping') return undefined;
  try {
    checkNames(load, cmd);
    return undefined;
  } catch (cause) {
    if (!(cause instanceof WireError)) throw cause;
    ports.count('clear_malformed');
    const { message } = cause;
    const answer = MALFORMED.get(cmd);
    return { value: answer?.(message) ?? buildErrorReply('SaltInvocationError', message) };
  }
}

/**
 * The closed table of clear commands (salt/master.py `ClearFuncs.expose_methods`, CVE-2020-11651),
 * with Brine's own `brine_query`, `brine_events`, `brine_batch`, `brine_resolve`, `brine_rights`,
 * `brine_read`, `brine_code` and `brine_oidc`.
 */
const COMMANDS: ReadonlyMap<string, ClearCommand> = new Map<string, ClearCommand>([
  ['ping', (_ports, _request, load) => ({ value: load })],
  ['publish', publishOrText],
  ['runner', answering(runner)],
  ['wheel', answering(wheel)],
  ['mk_token', answering(makeToken)],
  ['get_token', answering(getToken)],
  ['brine_query', queryWithTrace],
  ['brine_events', answering(busEvents)],
  ['brine_batch', answering(batch)],
  ['brine_resolve', answering(resolve)],
  ['brine_rights', answering(rights)],
  ['brine_read', answering(read)],
  ['brine_code', answering(keepCode)],
  ['brine_oidc', answering(beginElsewhere)],
]);

/**
 * Runs a clear command; an unknown or missing one answers an empty map, as in Salt. A command that
 * takes too much work is answered with a text.
 */
export async function runClearCommand(
  ports: MasterPorts,
  request: ClearRequest,
  load: SaltMap,
): Promise<ClearResult> {
  const name = load.get('cmd');
  const command = typeof name === 'string' ? COMMANDS.get(name) : undefined;
  if (typeof name !== 'string' || command === undefined) {
    ports.count('clear_unknown_command');
    return { value: mapOf({}) };
  }
  const start = performance.now();
  let proven: Proven | undefined;
  const onProven = (who: Proven): void => void (proven = who);
  try {
    const result =
      malformed(ports, name, load) ?? (await command(ports, { ...request, onProven }, load));
    recordClear(ports, request, { load, answer: result.value, proven });
    return result;
  } catch (fault) {
    const isRefused = isTooMuchWork(fault);
    const answer = mapOf({ error: isRefused ? TOO_MUCH_WORK : 'fault' });
    recordClear(ports, request, { load, answer, proven });
    if (!isRefused) throw fault;
    refuseWork(ports, request, { cmd: name, who: proven?.principal });
    return { value: answer };
  } finally {
    ports.handled?.(name, performance.now() - start);
  }
}
