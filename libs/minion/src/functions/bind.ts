import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import {
  ArgumentError,
  type Call,
  InvocationError,
  type MinionFunction,
} from './minion-function.ts';

/** Arguments of a publication, split into positional and named ones. */
export interface GivenArguments {
  readonly args: readonly SaltValue[];
  readonly kwargs: SaltMap;
}

/** Maps with `__kwarg__: true` have named arguments (Salt: salt/minion.py load_args_and_kwargs). */
export function splitArguments(given: readonly SaltValue[]): GivenArguments {
  const args: SaltValue[] = [];
  const kwargs: SaltMap = new Map();
  for (const value of given) {
    if (!isMap(value) || value.get('__kwarg__') !== true) args.push(value);
    else for (const [key, item] of value) if (key !== '__kwarg__') kwargs.set(key, item);
  }
  return { args, kwargs };
}

/**
 * Binds arguments to the parameters of a function.
 *
 * Throws InvocationError for unknown names, ArgumentError for too few or too many arguments, with
 * the texts of Salt and Python.
 */
export function bindArguments(
  name: string,
  fun: MinionFunction,
  given: GivenArguments,
  published: SaltMap,
): Omit<Call, 'setRetcode'> {
  const short = name.slice(name.indexOf('.') + 1);
  const parameters = fun.parameters ?? [];
  const takesArgs = fun.takes === 'args' || fun.takes === 'both';
  const takesKwargs = fun.takes === 'kwargs' || fun.takes === 'both';
  const { named, rest } = bindNamed(parameters, given.kwargs, takesKwargs);
  if (!takesArgs && given.args.length > parameters.length) {
    throw new ArgumentError(tooMany(short, fun, given.args.length));
  }
  given.args.slice(0, parameters.length).forEach((value, i) => {
    const key = parameters[i]?.name ?? '';
    if (named.has(key))
      throw new ArgumentError(`${short}() got multiple values for argument '${key}'`);
    named.set(key, value);
  });
  fillDefaults(short, parameters, named);
  const kwargs: SaltMap = new Map(rest);
  // Salt passes the fields of the publication to every function that takes any name.
  if (takesKwargs) for (const [key, value] of published) kwargs.set(`__pub_${pyStr(key)}`, value);
  return { named, args: given.args.slice(parameters.length), kwargs };
}

function bindNamed(
  parameters: NonNullable<MinionFunction['parameters']>,
  kwargs: SaltMap,
  takesKwargs: boolean,
): { readonly named: Map<string, SaltValue>; readonly rest: SaltMap } {
  const known = new Set(parameters.map((one) => one.name));
  const named = new Map<string, SaltValue>();
  const rest: SaltMap = new Map();
  for (const [key, value] of kwargs) {
    if (typeof key === 'string' && known.has(key)) named.set(key, value);
    else rest.set(key, value);
  }
  if (!takesKwargs && rest.size > 0) {
    const list = [...rest].map(([key, value]) => `${pyStr(key)}=${pyStr(value)}`).join(', ');
    throw new InvocationError(`The following keyword arguments are not valid: ${list}`);
  }
  return { named, rest };
}

function fillDefaults(
  short: string,
  parameters: NonNullable<MinionFunction['parameters']>,
  named: Map<string, SaltValue>,
): void {
  const missing: string[] = [];
  for (const parameter of parameters) {
    if (named.has(parameter.name)) continue;
    if (parameter.default === undefined) missing.push(`'${parameter.name}'`);
    else named.set(parameter.name, parameter.default);
  }
  if (missing.length === 0) return;
  const noun = missing.length === 1 ? 'argument' : 'arguments';
  const names = missing.join(' and ');
  throw new ArgumentError(
    `${short}() missing ${missing.length} required positional ${noun}: ${names}`,
  );
}

function tooMany(short: string, fun: MinionFunction, given: number): string {
  const most = fun.parameters?.length ?? 0;
  const least = (fun.parameters ?? []).filter((one) => one.default === undefined).length;
  const takes = least === most ? String(most) : `from ${least} to ${most}`;
  const noun = takes === '1' ? 'argument' : 'arguments';
  const were = given === 1 ? 'was' : 'were';
  return `${short}() takes ${takes} positional ${noun} but ${given} ${were} given`;
}
