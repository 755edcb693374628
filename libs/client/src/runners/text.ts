import type { SaltValue } from '@brine/wire';
import { pyRepr } from '@brine/wire/text';

/** A value as the text it was on the command line, or its repr. */
export function asText(value: SaltValue): string {
  return typeof value === 'string' ? value : pyRepr(value);
}
