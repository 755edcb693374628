import { mayCall, type SpecialKind } from '@brine/acl';
import { mapOf, pack, type SaltMap, textOf } from '@brine/wire';
import { buildErrorReply } from '@brine/wire/load';
import type { FunctionCall, FunctionOutcome, MasterPorts } from '../ports/ports.ts';
import {
  authenticate,
  type Caller,
  type ClearRequest,
  isStranger,
  notAllowed,
  refusalOf,
  SUDO_PREFIX,
} from './caller.ts';
import { readCall } from './function-call.ts';

/** Runners that one worker runs at the same time; each may wait for minions. */
export const RUNNERS_MAX = 32;

/** Functions whose arguments are secrets: they stand in no event. */
const SECRET_ARGUMENTS = /^auth\./;

/**
 * `runner` (salt/master.py ClearFuncs.runner): answers at once with the tag under which the events
 * `new` and `ret` come.
 */
export async function runner(
  ports: MasterPorts,
  request: ClearRequest,
  load: SaltMap,
): Promise<SaltMap> {
  const call = await allowedCall(ports, request, load, 'runner');
  if (call instanceof Map) return call;
  if (ports.functions.running() >= RUNNERS_MAX) {
    ports.count('runner_busy');
    return buildErrorReply('SaltRunnerError', `${RUNNERS_MAX} runners are running: try again`);
  }
  ports.functions.inBackground(async () => void (await runAndTell(ports, call)));
  return mapOf({ tag: tagOf(call), jid: call.jid });
}

/** Runs a function between its events `new` and `ret`. */
export async function runAndTell(ports: MasterPorts, call: FunctionCall): Promise<FunctionOutcome> {
  await announce(ports, call);
  const outcome = await ports.functions.run(call);
  await finish(ports, call, outcome);
  return outcome;
}

/** `wheel` (salt/master.py ClearFuncs.wheel): answers with what the function returned. */
export async function wheel(
  ports: MasterPorts,
  request: ClearRequest,
  load: SaltMap,
): Promise<SaltMap> {
  const call = await allowedCall(ports, request, load, 'wheel');
  if (call instanceof Map) return call;
  const outcome = await runAndTell(ports, call);
  const data = mapOf({
    fun: `wheel.${call.fun}`,
    jid: call.jid,
    tag: tagOf(call),
    user: call.user,
    return: outcome.value,
    success: outcome.success,
  });
  return mapOf({ tag: tagOf(call), data });
}

/** The call that a load asks for where its caller may make it, an error map where not. */
async function allowedCall(
  ports: MasterPorts,
  request: ClearRequest,
  load: SaltMap,
  kind: SpecialKind,
): Promise<FunctionCall | SaltMap> {
  const caller = await authenticate(ports, request, load);
  if (isStranger(caller)) return refusalOf(caller);
  const asked = readCall(kind, load);
  if (typeof asked === 'string') return malformed(ports, kind, asked);
  // As in Salt a local key is enough here, however few rights publisher_acl gives its user.
  const may = caller.acl === undefined || mayCall(caller.acl, asked);
  if (may === 'misspelt') {
    return malformed(ports, kind, 'A command invocation error occurred: Check syntax.');
  }
  const { principal } = caller;
  if (may) {
    const call = { ...asked, jid: ports.nextJid(), user: userOf(ports, load, caller), principal };
    return caller.acl === undefined ? call : { ...call, limited: true };
  }
  ports.count(`${kind}_not_allowed`);
  return refusalOf(notAllowed(caller));
}

function malformed(ports: MasterPorts, kind: SpecialKind, text: string): SaltMap {
  ports.count(`${kind}_malformed`);
  return buildErrorReply('SaltInvocationError', text);
}

/** The user as events name it. */
function userOf({ rules }: MasterPorts, load: SaltMap, caller: Caller): string {
  if (caller.kind !== 'user') return caller.user;
  const user = textOf(load, 'user') ?? rules.runningUser;
  return user.startsWith(SUDO_PREFIX) ? rules.user : user;
}

function tagOf({ kind, jid }: FunctionCall): string {
  return `salt/${kind === 'runner' ? 'run' : 'wheel'}/${jid}`;
}

/** The event `new`, before a function runs. */
async function announce(ports: MasterPorts, call: FunctionCall): Promise<void> {
  await fire(ports, call, 'new', mapOf({}));
}

async function finish(
  ports: MasterPorts,
  call: FunctionCall,
  { value, success, retcode }: FunctionOutcome,
): Promise<void> {
  const failed = retcode === undefined ? {} : { retcode };
  await fire(ports, call, 'ret', mapOf({ return: value, success, ...failed }));
}

async function fire(
  ports: MasterPorts,
  call: FunctionCall,
  suffix: 'new' | 'ret',
  more: SaltMap,
): Promise<void> {
  const { kind, fun, jid, user, args, kwargs } = call;
  const shown = SECRET_ARGUMENTS.test(fun) ? [] : [...args, ...(kwargs.size > 0 ? [kwargs] : [])];
  const data = mapOf({ fun: `${kind}.${fun}`, jid, user, fun_args: shown });
  for (const [name, value] of more) data.set(name, value);
  const tag = `${tagOf(call)}/${suffix}`;
  await ports.events.append({ kind: 'local', tag, body: pack(data), msgId: tag });
}
