import { pyRepr } from '@brine/wire/text';
import type { SaltValue } from '@brine/wire';

/** Python's `str` of a value. */
export function pythonText(value: SaltValue): string {
  return typeof value === 'string' ? value : pyRepr(value);
}
