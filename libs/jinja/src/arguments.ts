import { typeError } from './errors.ts';
import { type CallArguments, numberOf, typeName } from './python/values.ts';

/** Arguments by name: positional ones, then keywords, then `defaults`. */
export function bind(
  fun: string,
  names: readonly string[],
  args: CallArguments,
  defaults: Readonly<Record<string, unknown>> = {},
): Map<string, unknown> {
  const { positional, named } = args;
  if (positional.length > names.length) {
    throw typeError(
      `${fun}() takes ${takenBy(names, defaults)} but ${positional.length} were given`,
    );
  }
  const bound = new Map<string, unknown>();
  names.forEach((name, at) => {
    if (at < positional.length) bound.set(name, positional[at]);
    else if (named.has(name)) bound.set(name, named.get(name));
    else if (Object.hasOwn(defaults, name)) bound.set(name, defaults[name]);
    else throw typeError(`${fun}() missing 1 required positional argument: '${name}'`);
  });
  for (const name of named.keys()) {
    if (!names.includes(name)) {
      throw typeError(`${fun}() got an unexpected keyword argument '${name}'`);
    }
  }
  return bound;
}

/** The arguments of a filter whose function takes the value first, under this name. */
export function bindFilter(
  fun: string,
  name: string,
  value: unknown,
  names: readonly string[],
  { positional, named }: CallArguments,
  defaults: Readonly<Record<string, unknown>> = {},
): Map<string, unknown> {
  return bind(fun, [name, ...names], { positional: [value, ...positional], named }, defaults);
}

/** The number of arguments in an error, as Python writes it. */
function takenBy(names: readonly string[], defaults: Readonly<Record<string, unknown>>): string {
  const least = names.filter((name) => !Object.hasOwn(defaults, name)).length;
  const most = names.length;
  if (least < most) return `from ${least} to ${most} positional arguments`;
  return `${most} positional argument${most === 1 ? '' : 's'}`;
}

/** A whole number among the arguments. @throws JinjaError (TypeError) */
export function wholeNumber(value: unknown): number {
  const number = numberOf(value);
  if (number === undefined || !Number.isInteger(Number(number))) {
    throw typeError(`'${typeName(value)}' object cannot be interpreted as an integer`);
  }
  return Number(number);
}

/** A text among the arguments. @throws JinjaError (TypeError) */
export function textArgument(fun: string, value: unknown): string {
  if (typeof value === 'string') return value;
  throw typeError(`${fun}: expected a string, got '${typeName(value)}'`);
}
