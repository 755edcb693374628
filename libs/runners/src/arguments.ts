import type { SaltMap, SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import type { BoundArguments, GivenArguments, RunnerFunction } from './function.ts';

type Callee = Pick<RunnerFunction, 'name' | 'parameters' | 'open'>;

/** Arguments that do not fit, with Python's text. */
export class InvalidArgumentsError extends Error {
  constructor(text: string) {
    super(text);
    this.name = 'InvalidArgumentsError';
  }
}

/** A keyword that the function does not have. Salt then shows the list of functions. */
export class UnknownKeywordError extends Error {
  constructor(text: string) {
    super(text);
    this.name = 'UnknownKeywordError';
  }
}

/** Splits the arguments of a command line: keywords are in maps with `__kwarg__` among the rest. */
export function splitKeywords(words: readonly SaltValue[]): GivenArguments {
  const args: SaltValue[] = [];
  const kwargs: SaltMap = new Map();
  for (const word of words) {
    if (!(word instanceof Map) || word.get('__kwarg__') !== true) args.push(word);
    else for (const [key, value] of word) if (key !== '__kwarg__') kwargs.set(key, value);
  }
  return { args, kwargs };
}

/**
 * Binds arguments to parameters as Python does.
 * @throws InvalidArgumentsError UnknownKeywordError
 */
export function bindArguments(fun: Callee, given: GivenArguments): BoundArguments {
  const { args: positional, kwargs: keywords } = given;
  const names = new Set(fun.parameters.map(([name]) => name));
  const others = [...keywords].filter(([key]) => typeof key !== 'string' || !names.has(key));
  if (others.length > 0 && !takes(fun, 'kwargs')) {
    const shown = others.map(([key, value]) => `${pyStr(key)}=${pyStr(value)}`).join(', ');
    throw new UnknownKeywordError(`The following keyword arguments are not valid: ${shown}`);
  }
  const short = fun.name.split('.').at(-1) ?? fun.name;
  if (!takes(fun, 'args')) checkCount(short, fun, positional.length);
  const named = new Map<string, SaltValue>();
  const missing: string[] = [];
  fun.parameters.forEach(([name, preset], at) => {
    const value = positional[at];
    const keyword = keywords.get(name);
    if (value !== undefined && keyword !== undefined) {
      throw new InvalidArgumentsError(`${short}() got multiple values for argument '${name}'`);
    }
    // None is a value, as in Python: it does not fall back to the default.
    const found = [value, keyword, preset].find((one) => one !== undefined);
    if (found === undefined) missing.push(name);
    else named.set(name, found);
  });
  if (missing.length > 0) throw new InvalidArgumentsError(missingText(short, missing));
  return { named, args: positional.slice(fun.parameters.length), kwargs: new Map(others) };
}

function takes({ open }: Callee, what: 'args' | 'kwargs'): boolean {
  return open === what || open === 'any';
}

function checkCount(short: string, fun: Callee, count: number): void {
  const most = fun.parameters.length;
  if (count <= most) return;
  const least = fun.parameters.filter(([, preset]) => preset === undefined).length;
  const range = least === most ? String(most) : `from ${least} to ${most}`;
  const plural = most === 1 && least === most ? '' : 's';
  const were = count === 1 ? 'was' : 'were';
  throw new InvalidArgumentsError(
    `${short}() takes ${range} positional argument${plural} but ${count} ${were} given`,
  );
}

function missingText(short: string, names: readonly string[]): string {
  const quoted = names.map((name) => `'${name}'`);
  const last = quoted.pop() ?? '';
  const comma = quoted.length > 1 ? ',' : '';
  const list = quoted.length === 0 ? last : `${quoted.join(', ')}${comma} and ${last}`;
  const plural = names.length === 1 ? '' : 's';
  return `${short}() missing ${names.length} required positional argument${plural}: ${list}`;
}

/** Salt's text for arguments that do not fit. */
export function invalidArgumentsText(error: InvalidArgumentsError, doc: string): string {
  return `\nPassed invalid arguments: ${error.message}\n\nUsage:\n\n    ${doc}\n`;
}
