import { mayCall, type SpecialKind } from '@brine/acl';
import {
  buildErrorReply,
  mapIn,
  mapOf,
  pack,
  textOf,
  type SaltMap,
  type SaltValue,
} from '@brine/wire';
import type { FunctionCall, FunctionOutcome } from '../function-ports.ts';
import type { MasterPorts } from '../ports.ts';
import { authenticate, isStranger, notAllowed, refusalOf, type Caller } from './caller.ts';
import { SUDO_PREFIX } from './principal.ts';
import { callWheel } from './wheel.ts';

/** Runners that one worker runs at the same time; each may wait for minions. */
export const RUNNERS_MAX = 32;

/** What in a wheel's load is no argument (salt/client/mixins.py CLIENT_INTERNAL_KEYWORDS). */
const NO_ARGUMENTS: ReadonlySet<SaltValue> = new Set([
  'client',
  'cmd',
  'eauth',
  'fun',
  'key',
  'password',
  'print_event',
  'token',
  'user',
  'username',
  'version',
  'full_return',
]);

/** Functions whose arguments are secrets: they stand in no event. */
const SECRET_ARGUMENTS = /^auth\./;

/**
 * `runner` (salt/master.py ClearFuncs.runner): answers at once with the tag under which the events
 * `new` and `ret` come.
 */
export async function runner(ports: MasterPorts, load: SaltMap): Promise<SaltMap> {
  const given = mapIn(load, 'kwarg') ?? mapOf({});
  const caller = await allowed(ports, load, given, 'runner');
  if (caller instanceof Map) return caller;
  if (ports.functions.running() >= RUNNERS_MAX) {
    ports.count('runner_busy');
    return buildErrorReply('SaltRunnerError', `${RUNNERS_MAX} runners are running: try again`);
  }
  const call = callOf(ports, load, 'runner', given, userOf(ports, load, caller));
  ports.functions.inBackground(async () => void (await runAndTell(ports, call)));
  return mapOf({ tag: tagOf(call), jid: call.jid });
}

/** Runs a runner function between its events `new` and `ret`. */
export async function runAndTell(ports: MasterPorts, call: FunctionCall): Promise<FunctionOutcome> {
  await announce(ports, call);
  const outcome = await ports.functions.run(call);
  await finish(ports, call, outcome);
  return outcome;
}

/** `wheel` (salt/master.py ClearFuncs.wheel): answers with what the function returned. */
export async function wheel(ports: MasterPorts, load: SaltMap): Promise<SaltMap> {
  const caller = await allowed(ports, load, mapIn(load, 'kwarg') ?? mapOf({}), 'wheel');
  if (caller instanceof Map) return caller;
  const named = new Map([...load].filter(([name]) => !NO_ARGUMENTS.has(name)));
  const call = callOf(ports, load, 'wheel', named, userOf(ports, load, caller));
  await announce(ports, call);
  const outcome = await callWheel(ports, call);
  await finish(ports, call, outcome);
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

/** The caller where he may call this, an error map where not. */
async function allowed(
  ports: MasterPorts,
  load: SaltMap,
  given: SaltMap,
  kind: SpecialKind,
): Promise<Caller | SaltMap> {
  const fun = textOf(load, 'fun');
  const caller = await authenticate(ports, load);
  if (isStranger(caller)) return refusalOf(caller);
  if (fun === undefined) return buildErrorReply('SaltInvocationError', `No ${kind} was named`);
  // Salt asks for no right of whoever has a local key, however few rights publisher_acl gives him.
  if (caller.acl === undefined) return caller;
  const may = mayCall(caller.acl, fun, given, kind);
  if (may === 'misspelt') {
    const message = 'A command invocation error occurred: Check syntax.';
    return buildErrorReply('SaltInvocationError', message);
  }
  if (may) return caller;
  ports.count(`${kind}_not_allowed`);
  return refusalOf(notAllowed(caller));
}

/** The user as events name him. */
function userOf({ rules }: MasterPorts, load: SaltMap, caller: Caller): string {
  if (caller.kind !== 'user') return caller.user;
  const user = textOf(load, 'user') ?? rules.runningUser;
  return user.startsWith(SUDO_PREFIX) ? rules.user : user;
}

function callOf(
  ports: MasterPorts,
  load: SaltMap,
  kind: SpecialKind,
  given: SaltMap,
  user: string,
): FunctionCall {
  const arg = given.get('arg');
  const kwarg = mapIn(given, 'kwarg');
  const both = Array.isArray(arg) && kwarg !== undefined;
  const kwargs = both ? kwarg : given;
  return {
    kind,
    fun: textOf(load, 'fun') ?? '',
    jid: ports.nextJid(),
    user,
    args: both ? arg : [],
    kwargs: new Map([...kwargs].filter(([name]) => !isInternal(name))),
  };
}

/** Names of Salt's own, which are no arguments. */
export function isInternal(name: SaltValue): boolean {
  return typeof name === 'string' && name.startsWith('__');
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
  { value, success }: FunctionOutcome,
): Promise<void> {
  const failed = success ? {} : { retcode: 1 };
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
