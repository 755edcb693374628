import { describe, expect, it } from 'vitest';
import { WireError } from '../errors.ts';
import type { SaltValue } from '../value.ts';
import { SaltConstant } from '../value.ts';
import { unpack } from './decode.ts';
import { pack } from './encode.ts';
import { scanMap } from './scan.ts';

function codeOf(action: () => unknown): string | undefined {
  try {
    action();
  } catch (error) {
    if (error instanceof WireError) return error.code;
    throw error;
  }
  return undefined;
}

const hex = (text: string) => Buffer.from(text, 'hex');

describe('limits', () => {
  it('stop huge lengths before anything is allocated', () => {
    for (const head of ['c6', 'db', 'dd', 'df', 'c9']) {
      expect(codeOf(() => unpack(hex(`${head}ffffffff00`)))).toBe('SALT_WIRE_TRUNCATED');
      expect(codeOf(() => unpack(hex(`${head}7fffffff00`)))).toBe('SALT_WIRE_TRUNCATED');
    }
  });

  it('stop deep nesting of lists, maps and constants', () => {
    for (const step of ['91', '81c0', '8100', 'dc0001', 'df00000001a161']) {
      const deep = Buffer.concat([hex(step.repeat(100_000)), hex('c0')]);
      expect(codeOf(() => unpack(deep))).toBe('SALT_WIRE_DEPTH');
    }
    let constant: SaltValue = null;
    for (let index = 0; index < 150; index += 1) constant = new SaltConstant('x', [constant]);
    expect(unpack(pack(constant))).toEqual(constant);
    for (let index = 0; index < 400; index += 1) constant = new SaltConstant('x', [constant]);
    expect(codeOf(() => pack(constant))).toBe('SALT_WIRE_DEPTH');
  });

  it('let 512 levels through and not one more, both ways', () => {
    const nest = (levels: number) => hex('91'.repeat(levels) + 'c0');
    expect(pack(unpack(nest(512)))).toEqual(nest(512));
    expect(codeOf(() => unpack(nest(513)))).toBe('SALT_WIRE_DEPTH');
    expect(codeOf(() => pack([unpack(nest(512))]))).toBe('SALT_WIRE_DEPTH');
  });

  it('stop keys of numbers that may all collide, read or passed on', () => {
    const keyed = (count: number, key: (at: number) => SaltValue) =>
      pack(new Map(Array.from({ length: count }, (_, at) => [key(at), at])));
    for (const key of [(at: number) => at, (at: number) => at / 7, (at: number) => -at * 2 ** 20]) {
      const few = keyed(2_500, key);
      expect(unpack(few)).toHaveProperty('size', 2_500);
      expect(scanMap(few).entries).toHaveLength(2_500);
      const inOne = keyed(3_000, key);
      const inTwo = Buffer.concat([hex('82a161'), few, hex('a162'), few]);
      for (const bytes of [inOne, inTwo, Buffer.concat([hex('81a161'), inOne])]) {
        expect(codeOf(() => unpack(bytes))).toBe('SALT_WIRE_COST');
        expect(codeOf(() => scanMap(bytes))).toBe('SALT_WIRE_COST');
      }
    }
    expect(unpack(keyed(50_000, (at) => `k${at}`))).toHaveProperty('size', 50_000);
  });

  it('stop messages that would take too much memory, by bytes and by values', () => {
    const many = Buffer.concat([hex('dd000f4240'), Buffer.alloc(1_000_000, 0x80)]);
    expect(codeOf(() => unpack(many, { maxCost: 1_000_000 }))).toBe('SALT_WIRE_COST');
    expect(unpack(many)).toHaveLength(1_000_000);
    expect(codeOf(() => unpack(many, { maxBytes: 1000 }))).toBe('SALT_WIRE_SIZE');
    const inConstants = pack(Array.from({ length: 100 }, () => new SaltConstant('x', [1, 2, 3])));
    expect(codeOf(() => unpack(inConstants, { maxCost: 1000 }))).toBe('SALT_WIRE_COST');
    expect(codeOf(() => unpack(hex('91c0'), { maxDepth: 0 }))).toBe('SALT_WIRE_DEPTH');
  });
});
