import { readFileSync } from 'node:fs';
import type { SaltValue } from '../src/value.ts';
import { SaltConstant, SaltDatetime, SaltFloat } from '../src/value.ts';

/** A file of recorded bytes (test/fixtures/vectors), parsed. */
export function vectors<T>(name: string): T {
  const url = new URL(`../../../test/fixtures/vectors/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(url, 'utf8')) as T;
}

/** Bytes out of base64. */
export function b64(text: string): Buffer {
  return Buffer.from(text, 'base64');
}

/** A value in the notation of the recorded `decoded` fields. */
export function asVector(value: SaltValue): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Uint8Array) return { $b64: Buffer.from(value).toString('base64') };
  if (value instanceof SaltFloat) return value.value;
  if (value instanceof SaltDatetime) {
    const [date = '', time = ''] = value.text.split('T');
    return { $datetime: `${date}T${time}` };
  }
  if (value instanceof SaltConstant) return { $const: [value.name, asVector(value.value)] };
  if (Array.isArray(value)) return value.map(asVector);
  if (value instanceof Map) {
    return Object.fromEntries(
      [...value].map(([key, item]) => [
        typeof key === 'string' ? key : JSON.stringify(asVector(key)),
        asVector(item),
      ]),
    );
  }
  return value;
}
