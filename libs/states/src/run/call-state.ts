import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { isTruthy, pyStr, typeName } from '@brine/wire/text';
import { INTERNAL_KEYWORDS } from '../compile/requisites.ts';
import {
  type DoneStep,
  RunCutOffError,
  type RunPorts,
  StateArgumentError,
  type StateFunction,
} from '../ports.ts';
import { type Chunk, copyOf, textAt } from '../values.ts';
import { checkConditions, refuseCheckCmd } from './conditions.ts';
import { tracebackOf } from './results.ts';

/** The context of a state function when it is called. */
export interface CallContext {
  readonly ports: RunPorts;
  readonly running: ReadonlyMap<string, SaltMap>;
  /** Key of this call, the same after a resumption. */
  readonly key: string;
  readonly test: boolean;
}

/** The error of a chunk, if any (Salt: State.verify_data). Also reads `umask`. */
export function verifyData(chunk: Chunk, ports: Pick<RunPorts, 'stateFunction' | 'missing'>) {
  const errors: string[] = [];
  for (const key of ['state', 'fun', 'name']) {
    if (!chunk.has(key)) errors.push(`Missing "${key}" data`);
  }
  const sls = chunk.has('__sls__') ? textAt(chunk, '__sls__') : undefined;
  const name = chunk.get('name') ?? null;
  if (isTruthy(name) && typeof name !== 'string') {
    const place = sls === undefined ? '' : `in SLS '${sls}' `;
    errors.push(
      `ID '${pyStr(name)}' ${place}is not formed as a string, but is a ${typeName(name)}`,
    );
  }
  const umask = chunk.get('umask');
  if (umask !== undefined && !/^\s*(0o)?[0-7]+\s*$/i.test(pyStr(umask))) {
    errors.push(`Invalid umask: ${pyStr(umask)}`);
  }
  if (errors.length > 0) return errors;
  const full = fullName(chunk);
  const fun = ports.stateFunction(full);
  if (fun === undefined) {
    if (sls === undefined) return [`Specified state '${full}' was not found`];
    const reason = ports.missing(full);
    return [
      `State '${full}' was not found in SLS '${sls}'`,
      `Reason: '${full}' is not available.`,
      ...(reason === undefined ? [] : [reason]),
    ];
  }
  return fun.parameters
    .filter(([key, preset]) => preset === undefined && !chunk.has(key))
    .map(([key]) => `Missing parameter ${key} for state ${full}`);
}

/** Module and function of a chunk. */
export function fullName(chunk: Chunk): string {
  return `${textAt(chunk, 'state')}.${textAt(chunk, 'fun')}`;
}

/**
 * Calls a state function whose chunk was verified. An exception becomes a failure.
 * @throws StateArgumentError RunCutOffError
 */
export async function callFunction(chunk: Chunk, context: CallContext): Promise<DoneStep> {
  const { ports, key } = context;
  const full = fullName(chunk);
  const fun = ports.stateFunction(full);
  if (fun === undefined) throw new StateArgumentError(`${full} is not available`);
  const known = ports.ledger.done(key);
  if (known !== undefined) return known;
  const args = argumentsOf(fun, chunk);
  const startMs = ports.now();
  const ret = await attempt(fun, chunk, args, context);
  const called = { ret, startMs, endMs: ports.now() };
  if (fun.outside === true) await ports.ledger.finish(key, called);
  return called;
}

/** The arguments that a function gets (Salt: format_call). @throws StateArgumentError */
export function argumentsOf(fun: StateFunction, chunk: Chunk): SaltMap {
  const args: SaltMap = new Map();
  const names = new Set(fun.parameters.map(([name]) => name));
  for (const [name, preset] of fun.parameters) {
    const value = chunk.get(name) ?? (chunk.has(name) ? null : preset);
    if (value !== undefined) args.set(name, copyOf(value));
  }
  const others = [...chunk].filter(([key]) => {
    const name = pyStr(key);
    return !names.has(name) && !INTERNAL_KEYWORDS.has(name);
  });
  if (fun.open === true) for (const [name, value] of others) args.set(name, copyOf(value));
  else if (others.length > 0) throw new StateArgumentError(invalidText(fun.name, others));
  return args;
}

function invalidText(fun: string, others: readonly (readonly [SaltValue, SaltValue])[]): string {
  const names = others.map(([name]) => `'${pyStr(name)}'`);
  const last = names.pop() ?? '';
  if (names.length === 0) return `${last} is an invalid keyword argument for '${fun}'`;
  return `${names.join(', ')} and ${last} are invalid keyword arguments for '${fun}'`;
}

async function attempt(
  fun: StateFunction,
  chunk: Chunk,
  args: SaltMap,
  context: CallContext,
): Promise<SaltMap> {
  const { ports, running, key, test } = context;
  const name = textAt(args, 'name') || textAt(chunk, 'name') || textAt(chunk, '__id__');
  try {
    const skipped = await checkConditions(chunk, ports);
    if (skipped?.get('result') === true) {
      const ret = mapOf({ result: false, name: chunk.get('name') ?? null, changes: mapOf({}) });
      for (const [field, value] of skipped) ret.set(field, value);
      return ret;
    }
    refuseSlots(args);
    // Salt checks it after the state has run; here a state that can not be checked does not start.
    refuseCheckCmd(chunk);
    const saltenv = chunk.get('saltenv') ?? chunk.get('__env__') ?? 'base';
    const jid = chunk.get('__orchestration_jid__');
    return await fun.run(args, {
      chunk,
      test,
      running,
      saltenv: pyStr(saltenv),
      orchestrationJid: typeof jid === 'string' ? jid : undefined,
      earlier: ports.ledger.earlier(key),
      note: (what) => ports.ledger.begin(key, what),
    });
  } catch (error) {
    if (error instanceof RunCutOffError) throw error;
    return mapOf({
      result: false,
      name,
      changes: mapOf({}),
      comment: `An exception occurred in this state: ${tracebackOf(error)}`,
    });
  }
}

const SLOT = '__slot__:';

/** Refuses slots, which call functions for arguments. @throws Error: a slot would stay a text */
function refuseSlots(args: SaltMap): void {
  const isSlot = (value: SaltValue): boolean => typeof value === 'string' && value.startsWith(SLOT);
  const inner = (value: SaltValue): SaltValue[] => {
    if (Array.isArray(value)) return value.flatMap((item) => [item, ...inner(item)]);
    return value instanceof Map ? [...value.values()] : [];
  };
  for (const value of args.values()) {
    if (isSlot(value) || inner(value).some(isSlot)) {
      throw new Error('slots (__slot__:) are not evaluated on a Brine master');
    }
  }
}
