import { SaltFloat, type SaltValue } from '@brine/wire';
import { pyRepr } from '@brine/wire/text';
import { YamlLoadError } from '../errors.ts';
import { integerOf, sexagesimal } from './numbers.ts';
import { smallest } from './plain-value.ts';
import { resolvePlain } from './resolve.ts';

// Errors have the text of Python, because PyYAML passes them through.

/** The value of a text with `!!bool`, or that means a boolean. @throws YamlLoadError */
export function taggedBool(text: string): boolean {
  const meaning = resolvePlain(text.toLowerCase());
  if (meaning.kind === 'bool') return meaning.value;
  throw new YamlLoadError(pyRepr(text.toLowerCase()));
}

/** The value of a text with `!!int`, or that means an integer. @throws YamlLoadError */
export function taggedInt(text: string): SaltValue {
  return smallest(integerOf(text));
}

const DECIMAL = /^(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?$/;

/** The value of a text with `!!float`, or that means a float. @throws YamlLoadError */
export function taggedFloat(text: string): SaltValue {
  const plain = text.replaceAll('_', '').toLowerCase();
  if (plain === '') throw new YamlLoadError('string index out of range');
  const body = plain.replace(/^[-+]/, '');
  const value = unsigned(body) * (plain.startsWith('-') ? -1 : 1);
  return Number.isInteger(value) ? new SaltFloat(value) : value;
}

function unsigned(body: string): number {
  if (body === '.inf') return Number.POSITIVE_INFINITY;
  if (body === '.nan') return Number.NaN;
  const parts = body.split(':');
  const odd = parts.find((part) => !DECIMAL.test(part));
  if (odd === undefined) return sexagesimal(parts);
  throw new YamlLoadError(`could not convert string to float: ${pyRepr(odd)}`);
}
