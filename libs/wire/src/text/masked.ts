import { isMap, SaltFloat, type SaltValue } from '../value.ts';
import { isTruthy } from './python-text.ts';

const MASK = '**********';

/**
 * Hides a secret value. Its maps, lists and keys stay; each text, number, boolean and byte string
 * in them is hidden unless it is empty (Salt: salt/utils/secret.py serial).
 */
export function masked(value: SaltValue): SaltValue {
  if (Array.isArray(value)) return value.map(masked);
  if (isMap(value)) return new Map([...value].map(([key, item]) => [key, masked(item)]));
  if (!isTruthy(value)) return value;
  if (value instanceof Uint8Array) return new TextEncoder().encode(MASK);
  const isScalar = value instanceof SaltFloat || typeof value !== 'object';
  return isScalar ? MASK : value;
}
