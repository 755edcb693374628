import { SaltFloat, type SaltValue } from '@brine/wire';
import { type PlainMeaning, resolvePlain } from './resolve.ts';

/** The value of an unquoted scalar. */
export function plainValue(text: string, meaning: PlainMeaning = resolvePlain(text)): SaltValue {
  switch (meaning.kind) {
    case 'null':
      return null;
    case 'bool':
      return meaning.value;
    case 'int':
      return smallest(meaning.value);
    case 'float':
      return Number.isInteger(meaning.value) ? new SaltFloat(meaning.value) : meaning.value;
    default:
      return text;
  }
}

/** An integer in the smaller of its two types. */
export function smallest(value: bigint): number | bigint {
  const small = Number(value);
  return Number.isSafeInteger(small) ? small : value;
}
