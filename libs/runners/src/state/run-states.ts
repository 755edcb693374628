import { setTimeout as sleep } from 'node:timers/promises';
import { type FunctionOutcome } from '@brine/master';
import {
  InnerCallRefusedError,
  judgeInner,
  nameOfCall,
  runBetweenEvents,
} from '@brine/master/functions';
import type { StateCall, StateFunction } from '@brine/states';
import { isMap, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { hasSecretArguments } from '@brine/wire/load';
import { isTruthy, pyStr, typeName } from '@brine/wire/text';
import { bindArguments, UnknownKeywordError } from '../arguments.ts';
import { tooDeep } from '../depth.ts';
import type { RunnerFunction, WheelFunction } from '../function.ts';
import { fireArgs } from './minion-job.ts';
import { nestedChanges, parallelComment } from './parallel-results.ts';
import {
  BEHIND_MAX_MS,
  KNOWN_WITHIN_MS,
  pythonError,
  type StateWorld,
  unlessAway,
  unlessCutOff,
} from './world.ts';

/** The functions for steps; the table passes them in, which avoids a circular import. */
export interface Callable {
  runner(name: string): RunnerFunction | undefined;
  wheel(name: string): WheelFunction | undefined;
}

/** Limit of concurrent runners in one `parallel_runners`. */
const PARALLEL_MAX = 32;
/** Poll interval for a run that another process has taken over, ms. */
const LOOK_MS = 1_000;

/** `salt.runner`, `salt.wheel` and `salt.parallel_runners` (salt/states/saltmod.py). */
export function runStates(world: StateWorld, callable: Callable): readonly StateFunction[] {
  return [
    {
      name: 'salt.runner',
      parameters: [['name']],
      open: true,
      outside: true,
      run: (args, call) => oneStep(world, callable, 'runner', args, call),
    },
    {
      name: 'salt.wheel',
      parameters: [['name']],
      open: true,
      outside: true,
      run: (args, call) => oneStep(world, callable, 'wheel', args, call),
    },
    {
      name: 'salt.parallel_runners',
      parameters: [['name'], ['runners']],
      open: true,
      outside: true,
      run: (args, call) => parallelStep(world, callable, args, call),
    },
  ];
}

/** A call of a runner or a wheel by a step. */
interface NestedCall {
  readonly kind: 'runner' | 'wheel';
  readonly fun: string;
  readonly args: readonly SaltValue[];
  readonly kwargs: SaltMap;
}

async function oneStep(
  world: StateWorld,
  callable: Callable,
  kind: 'runner' | 'wheel',
  args: SaltMap,
  call: StateCall,
): Promise<SaltMap> {
  const name = args.get('name') ?? null;
  const title = kind === 'runner' ? 'Runner' : 'Wheel';
  if (call.test) {
    const comment = `${title} function '${pyStr(name)}' would be executed.`;
    return mapOf({ name, result: null, changes: mapOf({}), comment });
  }
  const why = tooDeepFor(world, pyStr(name));
  if (why !== undefined) return failed(name, why);
  const given = new Map([...args].filter(([key]) => key !== 'name'));
  const nested = await nestedCall(world, callable, kind, pyStr(name), given, call);
  const { jid, outcome } = await runNested(world, nested, call);
  const { value } = outcome;
  const success = isMap(value) && value.has('Error') ? false : outcome.success;
  return mapOf({
    name,
    changes: mapOf({ return: value }),
    result: success,
    comment: `${title} function '${pyStr(name)}' ${success ? 'executed' : 'failed'}.`,
    __jid__: jid,
  });
}

/**
 * A call with its arguments checked as Salt checks them before it runs anything.
 * @throws Error named as in Python
 */
async function nestedCall(
  world: StateWorld,
  callable: Callable,
  kind: 'runner' | 'wheel',
  fun: string,
  given: SaltMap,
  { orchestrationJid, saltenv }: StateCall,
): Promise<NestedCall> {
  const found = kind === 'runner' ? callable.runner(fun) : callable.wheel(fun);
  // A function of the site in Python checks its arguments itself.
  if (found === undefined && !(await world.master.local.knows(kind, fun))) {
    throw pythonError('KeyError', `'${fun}'`);
  }
  const [arg, kwarg] = kind === 'runner' ? [given.get('arg'), given.get('kwarg')] : [];
  const kwargs: SaltMap = new Map(isMap(kwarg) ? kwarg : []);
  for (const [key, value] of given) {
    const isOwn = kind === 'runner' && (key === 'arg' || key === 'kwarg');
    if (!isOwn && !pyStr(key).startsWith('__')) kwargs.set(key, value);
  }
  if (found?.parameters.some(([name]) => name === 'saltenv') === true) {
    kwargs.set('saltenv', saltenv);
  }
  if (ORCHESTRATIONS.has(fun) && orchestrationJid !== undefined) {
    kwargs.set('orchestration_jid', orchestrationJid);
  }
  const args = Array.isArray(arg) ? arg : [];
  if (found !== undefined) checkKeywords(found, { args, kwargs });
  return { kind, fun, args, kwargs };
}

const ORCHESTRATIONS: ReadonlySet<string> = new Set([
  'state.orchestrate',
  'state.orch',
  'state.sls',
]);

/** An unknown keyword is an error here; other wrong arguments are a failed result. */
function checkKeywords(
  fun: Pick<RunnerFunction, 'name' | 'parameters' | 'open'>,
  given: { readonly args: readonly SaltValue[]; readonly kwargs: SaltMap },
): void {
  try {
    bindArguments(fun, given);
  } catch (error) {
    if (!(error instanceof UnknownKeywordError)) return;
    throw pythonError('salt.exceptions.SaltInvocationError', error.message);
  }
}

/** Runs a function under a job id of its own; after a takeover, finds out its outcome. */
async function runNested(
  world: StateWorld,
  nested: NestedCall,
  call: StateCall,
): Promise<{ readonly jid: string; readonly outcome: FunctionOutcome }> {
  const { master } = world;
  const before = call.earlier === undefined ? undefined : textOf(call.earlier, 'jid');
  if (before !== undefined) {
    return { jid: before, outcome: await outcomeAfterDeath(world, nested, before) };
  }
  const jid = master.nextJid();
  try {
    judgeInner(master, master.call, nested, jid);
  } catch (error) {
    if (!(error instanceof InnerCallRefusedError)) throw error;
    return { jid, outcome: { value: error.message, success: false, retcode: 1 } };
  }
  await call.note(mapOf({ jid }));
  await fireArgs(world, call, shownCall(nested));
  const { user, principal, caller } = master.call;
  const identity = {
    jid,
    user,
    principal,
    via: nameOfCall(master.call),
    depth: depthWithin(world),
    ...(caller === undefined ? {} : { caller }),
  };
  const outcome = await unlessCutOff(
    runBetweenEvents(master, master.local, { ...nested, ...identity }),
    world.cutOff,
  );
  return { jid, outcome };
}

/** Number of calls around those of this orchestration's steps. */
function depthWithin({ master }: StateWorld): number {
  return (master.call.depth ?? 0) + 1;
}

function tooDeepFor(world: StateWorld, what: string): string | undefined {
  return tooDeep(what, depthWithin(world), world.master);
}

function failed(name: SaltValue, comment: string): SaltMap {
  return mapOf({ name, result: false, changes: mapOf({}), comment });
}

/** A call in the event `args`: without arguments if they may contain secrets. */
function shownCall({ kind, fun, args, kwargs }: NestedCall): SaltMap {
  const isSecret = hasSecretArguments(`${kind}.${fun}`);
  const [messages, keywords] = isSecret ? [[], mapOf({})] : [[...args], kwargs];
  if (kind === 'wheel') return mapOf({ type: kind, name: fun, args: keywords });
  return mapOf({ type: kind, name: fun, args: messages, kwargs: keywords });
}

/**
 * The outcome of a nested call that was running when the process died. An orchestration continues
 * by itself, so this waits for it; for other calls the job cache may have the result.
 */
async function outcomeAfterDeath(
  world: StateWorld,
  { fun }: NestedCall,
  jid: string,
): Promise<FunctionOutcome> {
  const { master, context } = world;
  let goneMs = Infinity;
  let receivedMs = master.now();
  for (;;) {
    const going = await unlessAway(async () => (await master.runs.find(jid))?.ended === false);
    const kept = await unlessAway(() => context.jobs.returns(jid));
    const entry = kept?.value.get(master.rules.masterMinionId);
    const data = isMap(entry) ? entry.get('return') : undefined;
    if (isMap(data)) {
      const retcode = data.get('retcode');
      return {
        value: data.get('return') ?? null,
        success: data.get('success') === true,
        ...(typeof retcode === 'number' ? { retcode } : {}),
      };
    }
    const now = master.now();
    const isReceived = going !== undefined && kept !== undefined;
    if (isReceived) receivedMs = now;
    // Its result may be on its way into the job cache.
    if (isReceived) goneMs = going.value ? Infinity : Math.min(goneMs, now);
    if (now - goneMs >= KNOWN_WITHIN_MS || now - receivedMs >= BEHIND_MAX_MS) break;
    await unlessCutOff(sleep(LOOK_MS), world.cutOff);
  }
  const value =
    `${fun} (job ${jid}) was under way when the worker that ran it died. ` +
    'Whether it came to its end is not known, and it was not begun again.';
  return { value, success: false, retcode: 1 };
}

async function parallelStep(
  world: StateWorld,
  callable: Callable,
  args: SaltMap,
  call: StateCall,
): Promise<SaltMap> {
  const name = args.get('name') ?? null;
  const runners = runnersOf(args.get('runners') ?? null, name);
  if (runners === undefined) {
    return failed(name, 'The runners parameter must be a string or dict.');
  }
  const why = tooDeepFor(world, pyStr(name));
  if (why !== undefined) return failed(name, why);
  const outputs = new Map<string, SaltValue>(runners.map(([id]) => [id, null]));
  const jids: SaltMap = new Map();
  const waiting = [...runners];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [id, config] = next;
      const own = callOfRunner(call, id, jids);
      const given = mapOf({ kwarg: config.get('kwarg') ?? undefined });
      const fun = pyStr(config.get('name') ?? id);
      const nested = await nestedCall(world, callable, 'runner', fun, given, call);
      outputs.set(id, (await runNested(world, nested, own)).outcome.value);
    }
  };
  // All of them end before the first failure is thrown.
  const lanes = Array.from({ length: Math.min(PARALLEL_MAX, runners.length) }, () => work());
  for (const lane of await Promise.allSettled(lanes)) {
    if (lane.status === 'rejected') throw lane.reason;
  }
  return parallelResult(name, outputs);
}

/** A call whose notes are stored beside those of the step's other runners. */
function callOfRunner(call: StateCall, id: string, jids: SaltMap): StateCall {
  const earlier = call.earlier?.get(id);
  const jid = typeof earlier === 'string' ? earlier : undefined;
  if (jid !== undefined) jids.set(id, jid);
  return {
    ...call,
    earlier: jid === undefined ? undefined : mapOf({ jid }),
    note: (what) => call.note(new Map(jids.set(id, what.get('jid') ?? null))),
  };
}

/** Runners by id with their settings; undefined for a value that is neither a text nor a map. */
function runnersOf(given: SaltValue, name: SaltValue): [string, SaltMap][] | undefined {
  if (typeof given === 'string')
    return [
      [
        given,
        new Map([
          [name, given],
          ['name', given],
        ]),
      ],
    ];
  if (!isMap(given)) return undefined;
  return [...given].map(([id, config]) => {
    const settings: SaltMap = new Map(isMap(config) ? config : []);
    for (const item of Array.isArray(config) ? config : []) {
      if (isMap(item)) for (const [key, value] of item) settings.set(key, value);
    }
    if (!settings.has('name')) settings.set('name', id);
    return [pyStr(id), settings];
  });
}

function parallelResult(name: SaltValue, outputs: ReadonlyMap<string, SaltValue>): SaltMap {
  const maps = [...outputs].map(([id, out]) => {
    if (!isMap(out)) {
      throw pythonError('AttributeError', `'${typeName(out)}' object has no attribute 'get'`);
    }
    return [id, out] as const;
  });
  const isHighstate = maps.every(
    ([, out]) => out.get('outputter') === 'highstate' && out.has('data'),
  );
  if (isHighstate) {
    const changes: SaltMap = new Map();
    for (const [id, out] of maps) {
      const found = nestedChanges(out.get('data') ?? null);
      if (isTruthy(found)) changes.set(id, found);
    }
    // Salt looks for a retcode where orchestrations have none: this never fails.
    return mapOf({ name, result: true, changes, comment: ALL_GOOD });
  }
  const bad = maps.filter(([, out]) => !isZero(out.get('exit_code'))).map(([id]) => id);
  return mapOf({
    name,
    result: bad.length === 0,
    changes: mapOf({ ret: new Map(outputs) }),
    comment: bad.length === 0 ? ALL_GOOD : parallelComment(bad),
  });
}

const ALL_GOOD = 'All runner functions executed successfully.';

function isZero(code: SaltValue | undefined): boolean {
  return code === undefined || code === 0 || code === false;
}
