import { RefusedError } from '@brine/client';
import { SaltFloat, type SaltValue } from '@brine/wire';
import { isTruthy, pyStr } from '@brine/wire/text';

/** The text of an argument; undefined for None. */
export function textGiven(named: ReadonlyMap<string, SaltValue>, name: string): string | undefined {
  const value = named.get(name);
  return value === undefined || value === null ? undefined : pyStr(value);
}

/** Names as a list or as a text with commas; undefined if none is given. */
export function namesGiven(value: SaltValue | undefined): readonly string[] | undefined {
  if (!isTruthy(value)) return undefined;
  if (Array.isArray(value)) return value.map(pyStr);
  return pyStr(value ?? '').split(',');
}

/**
 * A number, with a boolean as 0 or 1; undefined for a value that Python compares with no number.
 */
export function numberGiven(value: SaltValue): number | undefined {
  const number = value instanceof SaltFloat ? value.value : value;
  const isNumber = ['number', 'bigint', 'boolean'].includes(typeof number);
  return isNumber ? Number(number) : undefined;
}

/** The refusal of a function, or of a use of one, in one line; it exits with 1. */
export function refusal(text: string): RefusedError {
  return new RefusedError('CommandExecutionError', text);
}
