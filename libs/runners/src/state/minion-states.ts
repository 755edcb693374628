import { checkResult, type StateCall, type StateFunction } from '@brine/states';
import { isMap, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { isTruthy, pyRepr, pyStr, strip } from '@brine/wire/text';
import {
  fireArgs,
  type MinionAnswer,
  type MinionJob,
  refuseSsh,
  runMinionJob,
} from './minion-job.ts';
import type { StateWorld } from './world.ts';

/** `salt.state` and `salt.function`: steps that run on minions (salt/states/saltmod.py). */
export function minionStates(world: StateWorld): readonly StateFunction[] {
  return [
    {
      name: 'salt.state',
      parameters: STATE_PARAMETERS,
      open: true,
      outside: true,
      run: (args, call) => applyStates(world, args, call),
    },
    {
      name: 'salt.function',
      parameters: FUNCTION_PARAMETERS,
      open: true,
      outside: true,
      run: (args, call) => callFunction(world, args, call),
    },
  ];
}

const STATE_PARAMETERS: StateFunction['parameters'] = [
  ...([['name'], ['tgt'], ['ssh', false], ['tgt_type', 'glob'], ['ret', '']] as const),
  ...(['ret_config', 'ret_kwargs', 'highstate', 'sls', 'top', 'saltenv'] as const).map(none),
  ...(['test', 'pillar', 'pillarenv'] as const).map(none),
  ...([
    ['expect_minions', true],
    ['exclude', null],
    ['fail_minions', null],
  ] as const),
  ...([
    ['allow_fail', 0],
    ['concurrent', false],
    ['timeout', null],
    ['batch', null],
  ] as const),
  ...([
    ['queue', false],
    ['subset', null],
    ['orchestration_jid', null],
  ] as const),
  ['failhard', null],
];

const FUNCTION_PARAMETERS: StateFunction['parameters'] = [
  ...([['name'], ['tgt'], ['ssh', false], ['tgt_type', 'glob'], ['ret', '']] as const),
  ...(['ret_config', 'ret_kwargs'] as const).map(none),
  ['expect_minions', false],
  ...(['fail_minions', 'fail_function', 'arg', 'kwarg', 'timeout', 'batch'] as const).map(none),
  ...(['subset', 'failhard'] as const).map(none),
];

function none(name: string): readonly [string, SaltValue] {
  return [name, null];
}

function resultOf(args: SaltMap): SaltMap {
  return mapOf({ name: args.get('name') ?? null, changes: mapOf({}), comment: '', result: true });
}

function failed(ret: SaltMap, comment: string): SaltMap {
  return ret.set('result', false).set('comment', comment);
}

/** The function and arguments that `salt.state` sends, or why it can not. */
function stateOrder(args: SaltMap, test: boolean) {
  const arg: SaltValue[] = [];
  const [top, sls] = [args.get('top') ?? null, args.get('sls') ?? null];
  let fun: string;
  if (isTruthy(args.get('highstate'))) fun = 'state.highstate';
  else if (isTruthy(top)) {
    fun = 'state.top';
    arg.push(top);
  } else if (isTruthy(sls)) {
    fun = 'state.sls';
    arg.push(Array.isArray(sls) ? sls.map(pyStr).join(',') : sls);
  } else return 'No highstate or sls specified, no execution made';
  const kwarg: SaltMap = new Map();
  const asked = args.get('test') ?? null;
  if (asked !== null || test) kwarg.set('test', asked ?? test);
  if (isTruthy(args.get('pillar'))) kwarg.set('pillar', args.get('pillar') ?? null);
  for (const key of ['pillarenv', 'saltenv', 'exclude']) {
    const value = args.get(key) ?? null;
    if (value !== null) kwarg.set(key, value);
  }
  kwarg.set('queue', args.get('queue') ?? null);
  const concurrent = args.get('concurrent');
  if (typeof concurrent !== 'boolean') return "Must pass in boolean for value of 'concurrent'";
  return { fun, arg, kwarg: kwarg.set('concurrent', concurrent) };
}

async function applyStates(world: StateWorld, args: SaltMap, call: StateCall): Promise<SaltMap> {
  const ret = resultOf(args);
  const allowFail = wholeOf(args.get('allow_fail') ?? null);
  if (allowFail === undefined) {
    return failed(ret, "Passed invalid value for 'allow_fail', must be an int");
  }
  const test = call.test;
  const order = stateOrder(args, test);
  if (typeof order === 'string') return failed(ret, order);
  refuseSsh(args);
  const job = jobOf(world, args, order);
  const tgt = args.get('tgt') ?? null;
  const name = args.get('name') ?? null;
  const shown = shownOf(job, args);
  await fireArgs(world, call, mapOf({ type: 'state', tgt, name, args: shown }));
  const answers = await runMinionJob(world, job, call);
  setJid(ret, answers);
  const allowed = failMinions(args, ret);
  if (answers.size === 0 && isTruthy(args.get('expect_minions'))) {
    return failed(ret, 'No minions returned');
  }
  judgeStates(ret, answers, { allowed, allowFail });
  const isTest = isTruthy(args.get('test')) || test;
  if (isTest && isTruthy(ret.get('changes')) && ret.get('result') === true) ret.set('result', null);
  return ret;
}

/** Combines the results of all minions. */
function judgeStates(
  ret: SaltMap,
  answers: ReadonlyMap<string, MinionAnswer>,
  { allowed, allowFail }: { readonly allowed: ReadonlySet<string>; readonly allowFail: number },
): void {
  const changes: SaltMap = new Map();
  const fails = new Map<string, string>();
  const unchanged: string[] = [];
  for (const [id, answer] of answers) {
    const isGood =
      answer.failed !== true && 'ret' in answer && checkResult(answer.ret ?? null, true);
    const value = answer.failed === true ? false : (answer.ret ?? false);
    if (!isGood) {
      if (!allowed.has(id)) fails.set(id, failureDetail(id, answer));
      changes.set(id, value);
    } else if (hasChanges(value)) changes.set(id, value);
    else unchanged.push(id);
  }
  if (changes.size > 0) ret.set('changes', mapOf({ out: 'highstate', ret: changes }));
  if (fails.size > allowFail) {
    const details = [...fails]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([, detail]) => (detail === '' ? [] : [`\n${detail}`]));
    failed(ret, `Run failed on minions: ${[...fails.keys()].join(', ')}${details.join('')}`);
    return;
  }
  let comment = 'States ran successfully.';
  if (changes.size > 0) comment += ` Updating ${[...changes.keys()].map(pyStr).join(', ')}.`;
  if (unchanged.length > 0) comment += ` No changes made to ${unchanged.join(', ')}.`;
  ret.set('comment', comment);
}

function hasChanges(value: SaltValue): boolean {
  const states = isMap(value) ? [...value.values()] : [];
  return states.some((state) => isMap(state) && isTruthy(state.get('changes')));
}

/** Why a minion failed without results of states; empty if its results explain it. */
function failureDetail(id: string, answer: MinionAnswer): string {
  if (!('ret' in answer)) return `Minion ${id} did not return a state result.`;
  const ret = answer.ret ?? false;
  if (Array.isArray(ret)) {
    const parts = ret.filter((item) => isTruthy(item)).map(pyStr);
    if (parts.length === 0) return `Minion ${id} returned an empty error list.`;
    return `Minion ${id} returned errors: ${parts.join('; ')}`;
  }
  return isMap(ret) ? '' : `Minion ${id} returned ${pyRepr(ret)} instead of a state result.`;
}

async function callFunction(world: StateWorld, args: SaltMap, call: StateCall): Promise<SaltMap> {
  const ret = resultOf(args);
  const arg = args.get('arg') ?? null;
  if (typeof arg === 'string') {
    ret.set('warnings', ["Please specify 'arg' as a list of arguments."]);
  }
  const list = typeof arg === 'string' ? strip(arg).split(/\s+/) : arg;
  const kwarg = args.get('kwarg') ?? null;
  const order = {
    fun: pyStr(args.get('name') ?? ''),
    arg: Array.isArray(list) ? list : [],
    kwarg: isMap(kwarg) ? kwarg : mapOf({}),
  };
  const tgt = args.get('tgt') ?? null;
  if (call.test) {
    ret.set('comment', `Function ${order.fun} would be executed on target ${pyStr(tgt)}`);
    return ret.set('result', null);
  }
  let answers: Map<string, MinionAnswer>;
  try {
    refuseSsh(args);
    const job = jobOf(world, args, order);
    const shown = shownOf(job, args).set('_cmd_meta', true);
    await fireArgs(world, call, mapOf({ type: 'function', tgt, name: order.fun, args: shown }));
    answers = await runMinionJob(world, job, call);
  } catch (error) {
    if (world.cutOff?.aborted === true) throw error;
    return failed(ret, (error as Error).message);
  }
  setJid(ret, answers);
  await judgeFunction(world, ret, answers, args);
  return ret;
}

async function judgeFunction(
  world: StateWorld,
  ret: SaltMap,
  answers: ReadonlyMap<string, MinionAnswer>,
  args: SaltMap,
): Promise<void> {
  const allowed = failMinions(args, ret);
  const judge = args.get('fail_function') ?? null;
  const changes: SaltMap = new Map();
  const fails = new Set<string>();
  for (const [id, answer] of answers) {
    if (isTruthy(answer.retcode)) {
      ret.set('result', false);
      fails.add(id);
    }
    const value = answer.failed === true ? false : (answer.ret ?? null);
    let isGood = answer.failed !== true && value !== false;
    if (isGood && isTruthy(judge)) {
      isGood = isTruthy(await world.call(pyStr(judge), [value], mapOf({})));
    }
    if (!isGood && !allowed.has(id)) fails.add(id);
    changes.set(id, value);
  }
  const name = pyStr(args.get('name') ?? '');
  if (answers.size === 0) {
    failed(ret, 'No minions responded');
    return;
  }
  ret.set('changes', mapOf({ ret: changes }));
  let comment = 'Function ran successfully.';
  if (fails.size > 0) {
    ret.set('result', false);
    comment = `Running function ${name} failed on minions: ${[...fails].join(', ')}`;
  }
  ret.set('comment', `${comment} Function ${name} ran on ${[...answers.keys()].join(', ')}.`);
}

function jobOf(
  world: StateWorld,
  args: SaltMap,
  order: Pick<MinionJob, 'fun' | 'arg' | 'kwarg'>,
): MinionJob {
  const ret = args.get('ret') ?? '';
  const batch = args.get('batch') ?? null;
  const subset = args.get('subset') ?? null;
  const kwargs: SaltMap = new Map();
  for (const key of ['ret_config', 'ret_kwargs']) {
    const value = args.get(key) ?? null;
    if (isTruthy(value)) kwargs.set(key, value);
  }
  return {
    ...order,
    tgt: args.get('tgt') ?? null,
    tgtType: pyStr(args.get('tgt_type') ?? 'glob'),
    ret: Array.isArray(ret) ? ret.map(pyStr).join(',') : pyStr(ret),
    timeout: args.get('timeout') ?? null,
    batch: batch === null ? undefined : pyStr(batch),
    subset: subset === null ? undefined : subset,
    failhard: args.get('failhard') === true || isTruthy(world.master.option('failhard')),
    expectMinions: isTruthy(args.get('expect_minions')),
    kwargs,
  };
}

/** The arguments of a step in its event `args`. */
function shownOf(job: MinionJob, args: SaltMap): SaltMap {
  const shown = mapOf({
    arg: [...job.arg],
    kwarg: job.kwarg,
    ret: args.get('ret') ?? '',
    timeout: job.timeout,
    tgt_type: job.tgtType,
    ssh: args.get('ssh') ?? false,
    expect_minions: job.expectMinions,
    batch: job.batch,
    subset: job.subset,
    failhard: job.failhard ? true : undefined,
  });
  for (const [key, value] of job.kwargs) shown.set(key, value);
  return shown;
}

function setJid(ret: SaltMap, answers: ReadonlyMap<string, MinionAnswer>): void {
  const [first] = answers.values();
  if (first?.jid !== undefined) ret.set('__jid__', first.jid);
}

/** Minions that may fail; adds a warning if the value is no list. */
function failMinions(args: SaltMap, ret: SaltMap): ReadonlySet<string> {
  const given = args.get('fail_minions') ?? null;
  if (given === null) return new Set();
  if (typeof given === 'string') return new Set(given.split(',').map((id) => strip(id)));
  if (Array.isArray(given)) return new Set(given.map(pyStr));
  const warnings = ret.get('warnings');
  ret.set('warnings', [
    ...(Array.isArray(warnings) ? warnings : []),
    "'fail_minions' needs to be a list or a comma separated string. Ignored.",
  ]);
  return new Set();
}

function wholeOf(value: SaltValue): number | undefined {
  if (typeof value === 'boolean') return Number(value);
  const number = typeof value === 'string' ? Number(strip(value) || NaN) : value;
  return typeof number === 'number' && Number.isFinite(number) ? Math.trunc(number) : undefined;
}
