import { expect } from 'vitest';
import { WireError } from '../src/errors.ts';
import { SaltDatetime, SaltFloat } from '../src/value.ts';
import type { SaltMap, SaltValue } from '../src/value.ts';

/** The reader of a load. */
export type Parse = (load: SaltMap) => unknown;

/** A value of every type. */
export const WRONG: readonly SaltValue[] = [
  null,
  true,
  -1,
  1.5,
  2n ** 63n,
  new SaltFloat(1),
  '',
  '\0',
  '__proto__',
  Buffer.from([0xff]),
  [],
  [null],
  [new Map()],
  [[]],
  new Map(),
  new Map<SaltValue, SaltValue>([['__proto__', 1]]),
  new Map<SaltValue, SaltValue>([[1, 2]]),
  new SaltDatetime('20260101T00:00:00.000000'),
];

/** Every field missing, and of every wrong type: a value or SALT_WIRE_FIELD, nothing else. */
export function surviveHostile(parse: Parse, load: SaltMap): void {
  for (const key of load.keys()) {
    const without = new Map(load);
    without.delete(key);
    expectFieldError(() => parse(without));
    for (const wrong of WRONG) {
      expectFieldError(() => parse(new Map(load).set(key, wrong)));
    }
  }
  expectFieldError(() => parse(new Map()));
}

function expectFieldError(action: () => unknown): void {
  try {
    action();
  } catch (error) {
    expect(error).toBeInstanceOf(WireError);
    expect((error as WireError).code).toBe('SALT_WIRE_FIELD');
  }
}
