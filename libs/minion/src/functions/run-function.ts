import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { bindArguments, splitArguments } from './bind.ts';
import {
  ArgumentError,
  ExecutionError,
  InvocationError,
  type MinionFunction,
} from './minion-function.ts';

/** The outcome of a function. */
export interface Outcome {
  readonly return: SaltValue;
  readonly retcode: number;
  readonly success: boolean;
  readonly out?: string;
}

/** Salt: salt/defaults/exitcodes.py EX_GENERIC. */
const EX_GENERIC = 1;

/** The outcome of an unknown function. */
export function missingFunction(name: string, docs: SaltMap): Outcome {
  const text = `'${name}' is not available.`;
  if (docs.size === 0) return failure(text);
  const map: SaltMap = new Map(docs);
  map.set(name, text);
  return failure(map);
}

/** Runs a function. Never throws: an error becomes a return with Salt's text (salt/minion.py). */
export async function runFunction(
  name: string,
  fun: MinionFunction,
  given: readonly SaltValue[],
  published: SaltMap,
): Promise<Outcome> {
  let retcode = 0;
  try {
    const bound = bindArguments(name, fun, splitArguments(given), published);
    const value = await fun.run({ ...bound, setRetcode: (code) => (retcode = code) });
    if (retcode === 0 && isMap(value) && hasFailed(value)) retcode = EX_GENERIC;
    const out = fun.out === undefined ? {} : { out: fun.out };
    return { return: value, retcode, success: retcode === 0, ...out };
  } catch (error) {
    return failure(explain(name, fun, error));
  }
}

/** True for a map with a false `result` or `success` (Salt: salt/minion.py). */
export function hasFailed(value: SaltMap): boolean {
  return ['result', 'success'].some((key) => value.has(key) && isFalse(value.get(key)));
}

function isFalse(value: SaltValue | undefined): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (isMap(value)) return value.size === 0;
  return value === null || value === false || value === 0 || value === '';
}

function explain(name: string, fun: MinionFunction, error: unknown): string {
  if (error instanceof ArgumentError) {
    return `Passed invalid arguments to ${name}: ${error.message}\n${fun.doc}`;
  }
  if (error instanceof InvocationError) return `ERROR executing '${name}': ${error.message}`;
  if (error instanceof ExecutionError) return `ERROR: ${error.message}`;
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return `The minion function caused an exception: ${text}`;
}

function failure(value: SaltValue): Outcome {
  return { return: value, retcode: EX_GENERIC, success: false, out: 'nested' };
}
