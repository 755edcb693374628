import type { SaltValue } from '@brine/wire';
import { pyRepr } from '@brine/wire/text';

/** Python's `str` of a value. */
export function pythonText(value: SaltValue): string {
  return typeof value === 'string' ? value : pyRepr(value);
}
