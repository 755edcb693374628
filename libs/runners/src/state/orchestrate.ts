import { isJid } from '@brine/job';
import { isJudged } from '@brine/master/functions';
import {
  copyOf,
  DependencyGraph,
  RunCutOffError,
  StateArgumentError,
  StateRun,
  tagOf,
  verifyData,
  verifyHigh,
} from '@brine/states';
import { errorText } from '@brine/tasks';
import { isMap, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { isTruthy, pyStr, strip } from '@brine/wire/text';
import { InvalidArgumentsError } from '../arguments.ts';
import {
  type BoundArguments,
  masterOf,
  type OwnedWork,
  type RunnerContext,
  type RunnerFunction,
  type Shown,
} from '../function.ts';
import { refusal } from '../given-values.ts';
import type { OwnedRun } from '../owned-run.ts';
import { printProgress } from '../progress.ts';
import { OwnMinion, type StateSettings, wrapped } from './own-minion.ts';
import { Pauses, RunLedger } from './run-ledger.ts';
import { type Callable } from './run-states.ts';

const PILLAR_FORM = 'Pillar data must be formatted as a dictionary';

const ORCHESTRATE_DOC =
  'Runs SLS files of the file server on the master itself: steps on minions, runners, wheels and ' +
  'waits, in the order of their requisites. mods: names of the files, as a list or with commas. ' +
  'saltenv: their environment (base). test: show only what would be done. exclude: ids or files ' +
  'to leave out. pillar: a map that goes over the pillar of the master. pillarenv: environment ' +
  'of pillars. orchestration_jid: the job id for events (default: that of this run). The run ' +
  'continues when its worker dies.';

const SHOW_DOC =
  'Shows the states of SLS files as an orchestration would have them, and runs nothing. mods: ' +
  'names of the files. saltenv (base), test, pillar, pillarenv: as for state.orchestrate.';

const SINGLE_DOC =
  'Runs one state on the master itself. fun: module and function of the state (salt.function). ' +
  'name: its name. pillar: a map over the pillar of the master. Other keywords are arguments of ' +
  'the state.';

const HIGH_DOC =
  'Runs states that are given as data, as they stand in an SLS file after rendering. data: the ' +
  'map of states. pillar: a map over the pillar of the master.';

/** `state.orchestrate` and its variants (salt/runners/state.py). */
export function orchestrateRunner(callable: Callable): readonly RunnerFunction[] {
  const orchestrate: Omit<RunnerFunction, 'name'> = {
    parameters: [
      ['mods'],
      ['saltenv', 'base'],
      ['test', null],
      ['exclude', null],
      ['pillar', null],
      ['pillarenv', null],
      ['pillar_enc', null],
      ['orchestration_jid', null],
    ],
    doc: ORCHESTRATE_DOC,
    run: (given, context) => amongOthers(() => runSls(given, context, callable)),
  };
  const show: Omit<RunnerFunction, 'name'> = {
    parameters: [
      ['mods'],
      ['saltenv', 'base'],
      ['test', null],
      ['queue', false],
      ['pillar', null],
      ['pillarenv', null],
      ['pillar_enc', null],
    ],
    doc: SHOW_DOC,
    run: (given, context) => showSls(given, context, callable),
  };
  return [
    ...['state.orchestrate', 'state.orch', 'state.sls'].map((name) => ({ ...orchestrate, name })),
    ...['state.orchestrate_show_sls', 'state.orch_show_sls'].map((name) => ({ ...show, name })),
    {
      name: 'state.orchestrate_single',
      parameters: [['fun'], ['name'], ['test', null], ['queue', false], ['pillar', null]],
      open: 'kwargs',
      doc: SINGLE_DOC,
      run: (given, context) => runSingle(given, context, callable),
    },
    {
      name: 'state.orchestrate_high',
      parameters: [['data'], ['test', null], ['queue', false], ['pillar', null]],
      open: 'kwargs',
      doc: HIGH_DOC,
      run: (given, context) => runHigh(given, context, callable),
    },
  ];
}

/** Limit of concurrent orchestrations in one process; one that calls itself ends here. */
const UNDER_WAY_MAX = 64;
let underWay = 0;

async function amongOthers(work: () => Promise<Shown>): Promise<Shown> {
  if (underWay >= UNDER_WAY_MAX) {
    throw refusal(`${UNDER_WAY_MAX} orchestrations are under way in this worker: try again later`);
  }
  underWay += 1;
  try {
    return await work();
  } catch (error) {
    // Salt treats an unknown argument of a state as an unknown argument of the runner.
    if (error instanceof StateArgumentError) throw new InvalidArgumentsError(error.message);
    throw error;
  } finally {
    underWay -= 1;
  }
}

/** Resumes an orchestration of another process. */
export function orchestrateWork(callable: Callable): OwnedWork {
  return async (run, context) => {
    const { input: fixed } = run;
    if (!RunLedger.isWhole(run.data)) return { value: TOO_LARGE, success: false, retcode: 1 };
    const settings = settingsFrom(mapIn(fixed, 'settings') ?? mapOf({}));
    const minion = await OwnMinion.of(context, settings, callable);
    const { value, retcode } = await carryOut(run, minion, context, fixed.get('high') ?? null);
    return { value, success: retcode === 0, ...(retcode === 0 ? {} : { retcode }) };
  };
}

const TOO_LARGE =
  'The worker that ran this orchestration died. What its steps had returned was too large to be ' +
  'kept, so another worker can not continue without repeating steps.';

async function runSls(
  { named }: BoundArguments,
  context: RunnerContext,
  callable: Callable,
): Promise<Shown> {
  const master = masterOf(context);
  const jid = named.get('orchestration_jid') ?? null;
  if (isJudged(master, master.call) && jid !== null && !isJid(jid)) {
    throw refusal('orchestration_jid is no job id');
  }
  const settings = {
    ...settingsOf(named, context),
    test: isTest(named.get('test') ?? null, context),
    jid: jid === null ? master.call.jid : pyStr(jid),
    orchestrationJid: jid === null ? master.call.jid : pyStr(jid),
  };
  const minion = await OwnMinion.of(context, settings, callable);
  if (minion.pillarErrors.length > 0) {
    return wrapped(master.rules.masterMinionId, [PILLAR_FAILED, ...minion.pillarErrors]);
  }
  const mods = namesOf(named.get('mods') ?? null);
  const { high, errors } = await minion.compile(mods);
  if (errors.length > 0) return wrapped(master.rules.masterMinionId, [...errors]);
  exclude(high, named.get('exclude') ?? null);
  const run = await begin(context, settings, high, mods);
  if (run === undefined) return wrapped(master.rules.masterMinionId, await minion.run(high));
  const shown = await carryOut(run, minion, context, high);
  await run.end();
  return shown;
}

const PILLAR_FAILED = 'Pillar failed to render with the following messages:';

/** Stores a run for other processes; undefined if that fails, which is logged. */
async function begin(
  context: RunnerContext,
  settings: StateSettings,
  high: SaltMap,
  mods: readonly string[],
): Promise<OwnedRun | undefined> {
  const { runs, call, ownStates } = masterOf(context);
  const about = mapOf({ mods: [...mods], orchestration_jid: settings.jid });
  // The run changes its data: a copy keeps the rendered ones.
  const fixed = mapOf({ settings: settingsMap(settings), high: copyOf(high) });
  try {
    return await runs.begin('orchestrate', call.jid, about, fixed);
  } catch (error) {
    const text = errorText(error);
    ownStates.log('warning', `orchestration ${call.jid} ends with this worker: ${text}`);
    return undefined;
  }
}

async function carryOut(
  run: OwnedRun,
  minion: OwnMinion,
  context: RunnerContext,
  high: SaltValue,
): Promise<{ readonly value: SaltMap; readonly retcode: number }> {
  const master = masterOf(context);
  const { ownStates } = master;
  const { masterMinionId } = master.rules;
  const about = new Map([...run.data].filter(([key]) => key !== 'steps' && key !== 'begun'));
  const ledger = new RunLedger(run, about, (text) =>
    ownStates.log('warning', `${run.jid}: ${text}`),
  );
  const outer = textOf(about, 'orchestration_jid') ?? run.jid;
  const pauses = new Pauses(
    () => master.now(),
    () => (outer === run.jid ? [] : master.runs.messages(outer)),
  );
  run.onMessage((message) => pauses.take(message));
  const cutOff = cutOffOf(run);
  const running = await minion.run(high, {
    ledger,
    cutOff,
    gate: async (id) => {
      if (cutOff.aborted) throw cutOff.reason;
      return pauses.gate(id, cutOff);
    },
  });
  return wrapped(masterMinionId, running);
}

/** Aborted with the run, with an error that ends all of its steps. */
function cutOffOf({ released: lost, jid }: OwnedRun): AbortSignal {
  const controller = new AbortController();
  const abort = (): void => controller.abort(new RunCutOffError(`${jid} is another worker's`));
  if (lost.aborted) abort();
  else lost.addEventListener('abort', abort, { once: true });
  return controller.signal;
}

async function showSls(
  { named }: BoundArguments,
  context: RunnerContext,
  callable: Callable,
): Promise<Shown> {
  const { masterMinionId } = masterOf(context).rules;
  const settings = settingsOf(named, context);
  const minion = await OwnMinion.of(context, settings, callable);
  if (minion.pillarErrors.length > 0) throw refusal('Pillar failed to render');
  const { high, errors } = await minion.compile(namesOf(named.get('mods') ?? null));
  const all = [...errors, ...verifyHigh(high)];
  return { value: mapOf({ [masterMinionId]: all.length > 0 ? all : high }) };
}

async function runSingle(
  { named, kwargs }: BoundArguments,
  context: RunnerContext,
  callable: Callable,
): Promise<Shown> {
  const { masterMinionId } = masterOf(context).rules;
  const settings = { ...settingsOf(named, context), areGiven: true } as const;
  const [module, fun] = pyStr(named.get('fun') ?? '').split('.');
  if (fun === undefined) return { value: mapOf({ [masterMinionId]: 'Invalid function passed' }) };
  const chunk: SaltMap = new Map(kwargs);
  if (settings.override.size > 0) chunk.set('pillar', settings.override);
  const name = named.get('name') ?? null;
  for (const [key, value] of mapOf({ state: module ?? '', fun, __id__: name, name })) {
    chunk.set(key, value);
  }
  const minion = await OwnMinion.of(context, settings, callable);
  const ports = minion.ports();
  const errors = verifyData(chunk, ports);
  if (errors.length > 0) return shownStates(context, errors);
  const run = new StateRun(ports, minion.options(), new DependencyGraph());
  return shownStates(context, new Map([[tagOf(chunk), await run.single(chunk)]]));
}

async function runHigh(
  { named }: BoundArguments,
  context: RunnerContext,
  callable: Callable,
): Promise<Shown> {
  const settings = { ...settingsOf(named, context), areGiven: true } as const;
  const minion = await OwnMinion.of(context, settings, callable);
  return shownStates(context, await minion.run(named.get('data') ?? null));
}

/** The results of states; as in Salt an event `progress` has them too, in the form of states. */
async function shownStates(context: RunnerContext, states: SaltMap | string[]): Promise<Shown> {
  const value = mapOf({ [masterOf(context).rules.masterMinionId]: states });
  await printProgress(context, mapOf({ data: value, outputter: 'highstate' }));
  return { value };
}

/** Settings from arguments. @throws Error for a pillar that is no map, or encrypted as a whole */
function settingsOf(named: ReadonlyMap<string, SaltValue>, context: RunnerContext): StateSettings {
  const master = masterOf(context);
  const pillar = named.get('pillar') ?? null;
  if (pillar !== null && !isMap(pillar)) throw new InvalidArgumentsError(PILLAR_FORM);
  if (isTruthy(named.get('pillar_enc'))) {
    throw refusal('pillar_enc is not served; decrypt in the pillar, or by decrypt_pillar.');
  }
  const saltenv = named.get('saltenv') ?? master.option('saltenv') ?? null;
  const env = saltenv === null ? 'base' : pyStr(saltenv);
  const pillarenv = named.get('pillarenv') ?? master.option('pillarenv') ?? null;
  return {
    saltenv: env,
    // Without one the pillar is that of all environments, since Salt 3006.28.
    pillarenv: isTruthy(pillarenv) ? pyStr(pillarenv) : null,
    override: isMap(pillar) ? pillar : mapOf({}),
    test: isTest(null, context),
    jid: undefined,
    orchestrationJid: undefined,
  };
}

/** As _get_test_value of salt/modules/state.py. */
function isTest(given: SaltValue, context: RunnerContext): boolean {
  if (given === false) return false;
  return given !== null || isTruthy(masterOf(context).option('test'));
}

/** Names in a list, or with commas (Salt: split_input). */
function namesOf(value: SaltValue): string[] {
  if (Array.isArray(value)) return value.map(pyStr);
  return pyStr(value)
    .split(',')
    .map((name) => strip(name));
}

function exclude(high: SaltMap, given: SaltValue): void {
  if (!isTruthy(given)) return;
  const list = Array.isArray(given) ? given : namesOf(given);
  const known = high.get('__exclude__');
  high.set('__exclude__', [...(Array.isArray(known) ? known : []), ...list]);
}

function settingsMap({ jid, orchestrationJid, ...rest }: StateSettings): SaltMap {
  return mapOf({ ...rest, jid, orchestration_jid: orchestrationJid });
}

function settingsFrom(map: SaltMap): StateSettings {
  return {
    saltenv: textOf(map, 'saltenv') ?? 'base',
    pillarenv: textOf(map, 'pillarenv') ?? null,
    override: mapIn(map, 'override') ?? mapOf({}),
    test: map.get('test') === true,
    jid: textOf(map, 'jid'),
    orchestrationJid: textOf(map, 'orchestration_jid'),
  };
}
