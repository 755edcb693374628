import { mayCall, type SpecialKind } from '@brine/acl';
import { isJid, type Jid, jobReturnTag } from '@brine/job';
import { mapOf, pack, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import {
  buildErrorReply,
  buildRunEntry,
  COMMAND_NAME,
  hasSecretArguments,
  hasSecretReturn,
} from '@brine/wire/load';
import { RunIsKnownError } from '../errors.ts';
import type { FunctionCall, FunctionOutcome, LocalFunctions, MasterPorts } from '../ports/ports.ts';
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
import { keptCaller } from './kept-caller.ts';
import { beginCommand, knownCommand, type Repeatable, repeatableIn } from './repeatable.ts';

/** Limit of concurrent runners in one process; each may wait for minions. */
export const RUNNERS_MAX = 32;

export const RUNNERS_FULL = `${RUNNERS_MAX} runners are running: try again`;

/** A field of the load of a wheel whose caller does not wait. */
const ASYNC = 'brine_async';

/** Longest wait that a runner's own commands may ask for: a day. */
const TIMEOUT_MAX_S = 86_400;

/**
 * `runner` (salt/master.py ClearFuncs.runner): answers at once with the tag of the events `new` and
 * `ret`. A command that names itself begins one run, however often it is sent: the gateway that had
 * its answer may have died.
 */
export async function runner(
  ports: MasterPorts,
  request: ClearRequest,
  load: SaltMap,
): Promise<SaltMap> {
  const allowed = await allowedCall(ports, request, load, { kind: 'runner', isAsync: true });
  return allowed instanceof Map ? allowed : begin(ports, allowed);
}

/** Begins a call, and answers with the tag of its events. One that comes again began before. */
async function begin(ports: MasterPorts, { call, command }: AllowedCall): Promise<SaltMap> {
  const { jid } = call;
  try {
    await ports.functions.begin(call);
  } catch (cause) {
    if (command === undefined || !(cause instanceof RunIsKnownError)) throw cause;
  }
  if (command !== undefined) await ports.commands.done(command.key, { jid, body: command.body });
  return mapOf({ tag: tagOf(call), jid });
}

/** Runs a function between its events `new` and `ret`. */
export async function runBetweenEvents(
  ports: MasterPorts,
  functions: Pick<LocalFunctions, 'run'>,
  call: FunctionCall,
): Promise<FunctionOutcome> {
  await announce(ports, call);
  const outcome = await functions.run(call);
  if (outcome.moved !== true) await fireOutcome(ports, call, outcome);
  return outcome;
}

/**
 * `wheel` (salt/master.py ClearFuncs.wheel): answers with the function's result, or with
 * `brine_async` at once with the tag of its events.
 */
export async function wheel(
  ports: MasterPorts,
  request: ClearRequest,
  load: SaltMap,
): Promise<SaltMap> {
  const isAsync = load.get(ASYNC) === true;
  load.delete(ASYNC);
  const allowed = await allowedCall(ports, request, load, { kind: 'wheel', isAsync });
  if (allowed instanceof Map) return allowed;
  if (isAsync) return begin(ports, allowed);
  const { call } = allowed;
  const outcome = await ports.functions.call(call);
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

/** A call that its caller may make. */
interface AllowedCall {
  readonly call: FunctionCall;
  /** Present if its client may send it again. */
  readonly command: Repeatable | undefined;
}

/** The call in a load, if its caller may make it; else an answer without one. */
async function allowedCall(
  ports: MasterPorts,
  request: ClearRequest,
  load: SaltMap,
  { kind, isAsync }: { readonly kind: SpecialKind; readonly isAsync: boolean },
): Promise<AllowedCall | SaltMap> {
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
    const admission = kind === 'runner' ? await ports.functions.admits(kind, asked.fun) : 'yes';
    if (admission === 'unknown') {
      ports.count('runner_not_available');
      return buildErrorReply('CommandExecutionError', `'${asked.fun}' is not available.`);
    }
    if (admission === 'full') {
      ports.count('runner_busy');
      return buildErrorReply('SaltRunnerError', RUNNERS_FULL);
    }
    const command = isAsync ? repeatableIn(load, caller) : undefined;
    if (command instanceof Map) return command;
    const jid = await jidFor(ports, { kind, caller, load, command });
    if (typeof jid !== 'string') return jid;
    const seconds = load.get('timeout');
    const traceparent = textOf(load, 'traceparent');
    const call = {
      ...asked,
      jid,
      user: userOf(ports, load, caller),
      principal,
      ...(caller.acl === undefined ? {} : { caller: keptCaller(caller) }),
      ...(isTimeout(seconds) && { timeoutSeconds: seconds }),
      ...(kind === 'runner' && traceparent !== undefined ? { traceparent } : {}),
    };
    return { call, command };
  }
  ports.count(`${kind}_not_allowed`);
  return refusalOf(notAllowed(caller));
}

/** The job id for a run, or the answer to a command that began one before. */
async function jidFor(
  ports: MasterPorts,
  {
    kind,
    caller,
    load,
    command,
  }: Omit<AllowedCall, 'call'> & {
    readonly kind: SpecialKind;
    readonly caller: Caller;
    readonly load: SaltMap;
  },
): Promise<string | SaltMap> {
  if (command === undefined) {
    return kind === 'runner' ? runFor(ports, caller, load) : ports.nextJid();
  }
  const begun = (await knownCommand(ports, command)) ?? (await beginCommand(ports, command));
  if (begun === undefined) return buildErrorReply('SaltRunnerError', NO_JID);
  if (begun instanceof Map) return begun;
  const { jid, isDone } = begun;
  return isDone ? mapOf({ tag: tagOf({ kind, jid }), jid }) : jid;
}

const NO_JID = 'Could not allocate a job id';

/**
 * The job id for the run of a runner: that of `salt-run --jid` if it is free, or a new one. Else
 * the answer to its command, which begins no run or no second one.
 */
async function runFor(
  ports: MasterPorts,
  caller: Caller,
  load: SaltMap,
): Promise<string | SaltMap> {
  const asked = load.get('jid') ?? '';
  const jid = asked === '' ? ports.nextJid() : asked;
  const unfit = (): SaltMap => malformed(ports, 'runner', 'jid is no job id, or it is taken');
  if (!isJid(jid)) return unfit();
  const name = textOf(load, COMMAND_NAME);
  // The principal is part of the key, so that one user can not answer another's command.
  const command = name === undefined ? undefined : `${caller.principal}\0${name}`;
  const isFree = asked === '' || (await ports.publications.reserve(jid));
  // A refused command is recorded too: a repetition must not follow the run that has its jid.
  const begun = command && (await ports.publications.begin(command, isFree ? jid : ''));
  if (begun !== undefined && begun !== '') return mapOf({ tag: `salt/run/${begun}`, jid: begun });
  return isFree && begun === undefined ? jid : unfit();
}

/** Seconds of `salt-run -t`. */
function isTimeout(value: SaltValue | undefined): value is number {
  return typeof value === 'number' && value > 0 && value <= TIMEOUT_MAX_S;
}

function malformed(ports: MasterPorts, kind: SpecialKind, text: string): SaltMap {
  ports.count(`${kind}_malformed`);
  return buildErrorReply('SaltInvocationError', text);
}

/** The user in events. */
function userOf({ rules }: MasterPorts, load: SaltMap, caller: Caller): string {
  if (caller.kind !== 'user') return caller.user;
  const user = textOf(load, 'user') ?? rules.runningUser;
  return user.startsWith(SUDO_PREFIX) ? rules.user : user;
}

function tagOf({ kind, jid }: Pick<FunctionCall, 'kind' | 'jid'>): string {
  return `salt/${kind === 'runner' ? 'run' : 'wheel'}/${jid}`;
}

/** Fires the event `new`, before a function runs; stored once if fired twice. */
export async function announce(ports: MasterPorts, call: FunctionCall): Promise<void> {
  await fire(ports, call, 'new', mapOf({}));
}

/** Fires the event `ret` of a call; stored once if fired twice. */
export async function fireOutcome(
  ports: MasterPorts,
  call: FunctionCall,
  { value, success, retcode }: FunctionOutcome,
): Promise<void> {
  const failed = retcode === undefined ? {} : { retcode };
  const isSecret = hasSecretReturn(`${call.kind}.${call.fun}`);
  const shown = isSecret ? ports.sealReturn(`${tagOf(call)}/ret`, value) : value;
  const data = await fire(ports, call, 'ret', mapOf({ return: shown, success, ...failed }));
  const { masterMinionId, runnerReturns } = ports.rules;
  if (call.kind === 'runner' && !runnerReturns) return;
  const entry = buildRunEntry(`${tagOf(call)}/ret`, data, masterMinionId);
  if (entry === undefined) return;
  const { jid } = call;
  await ports.events.append({
    kind: 'run',
    tag: jobReturnTag(jid as Jid, masterMinionId),
    jid,
    minion: masterMinionId,
    body: pack(entry.load),
    msgId: `run:${jid}`,
  });
}

async function fire(
  ports: MasterPorts,
  call: FunctionCall,
  suffix: 'new' | 'ret',
  more: SaltMap,
): Promise<SaltMap> {
  const { kind, fun, jid, user, args, kwargs } = call;
  const full = `${kind}.${fun}`;
  const shown = hasSecretArguments(full) ? [] : [...args, ...(kwargs.size > 0 ? [kwargs] : [])];
  const data = mapOf({ fun: full, jid, user, fun_args: shown });
  for (const [name, value] of more) data.set(name, value);
  const tag = `${tagOf(call)}/${suffix}`;
  await ports.events.append({ kind: 'local', tag, body: pack(data), msgId: tag });
  return data;
}
