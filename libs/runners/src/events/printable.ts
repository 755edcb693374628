import { isMap, type SaltValue } from '@brine/wire';

/** As Salt prints an event as JSON: bytes that are no text become base64. */
export function printable(value: SaltValue): SaltValue {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (Array.isArray(value)) return value.map(printable);
  if (!isMap(value)) return value;
  return new Map([...value].map(([key, item]) => [key, printable(item)]));
}
