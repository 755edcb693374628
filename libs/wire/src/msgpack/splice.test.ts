import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyMap, anyValue, text } from '../../test/values.ts';
import { WireError } from '../errors.ts';
import type { SaltMap, SaltValue } from '../value.ts';
import { isMap, mapOf } from '../value.ts';
import { unpack } from './decode.ts';
import { pack } from './encode.ts';
import { scanMap } from './scan.ts';
import { appendField, appendPacked, cutFields, mapHead, unpackMap } from './splice.ts';

function codeOf(action: () => unknown): string | undefined {
  try {
    action();
  } catch (error) {
    if (error instanceof WireError) return error.code;
    throw error;
  }
  return undefined;
}

const hex = (digits: string) => Buffer.from(digits, 'hex');

describe('scanMap', () => {
  it('finds every entry where unpack finds it', () => {
    fc.assert(
      fc.property(anyMap, (map) => {
        const packed = pack(map);
        const scan = scanMap(packed);
        expect(scan.entries).toHaveLength(map.size);
        for (const [key, value] of map) {
          if (typeof key !== 'string') continue;
          expect(scan.has(key)).toBe(true);
          expect(scan.value(key)).toEqual(value);
          expect(unpack(scan.raw(key) ?? Buffer.alloc(0))).toEqual(value);
          expect(scan.text(key)).toBe(typeof value === 'string' ? value : undefined);
          if (value instanceof Uint8Array) expect(scan.bytes(key)).toEqual(Buffer.from(value));
        }
        expect(scan.has('no such key')).toBe(false);
        expect(scan.raw('no such key')).toBeUndefined();
        expect(scan.value('no such key')).toBeUndefined();
        expect(scan.bytes('no such key')).toBeUndefined();
      }),
      { numRuns: 150 },
    );
  });

  it('takes and refuses the same bytes as unpack', () => {
    // Mostly type bytes, so that many of the messages hold together.
    const typeByte = fc.constantFrom(
      ...[0x80, 0x81, 0x82, 0x90, 0x91, 0x92, 0xa0, 0xa1, 0xc0, 0xc1, 0xc3, 0xc4, 0xc5, 0xc7, 0xca],
      ...[
        0xcb, 0xcc, 0xcf, 0xd2, 0xd4, 0xd5, 0xd9, 0xdc, 0xdd, 0xde, 0xdf, 0xe0, 0x4e, 0x4f, 0x00,
        0x01,
      ],
    );
    const bytes = fc.array(fc.oneof(typeByte, fc.integer({ min: 0, max: 255 })), { maxLength: 24 });
    const headed = fc.tuple(
      fc.constantFrom([0x81], [0x82], [0xde, 0, 1], [0xdf, 0, 0, 0, 1]),
      bytes,
    );
    fc.assert(
      fc.property(headed, ([head, rest]) => {
        const message = Buffer.from([...head, ...rest]);
        const limits = { maxDepth: 6, maxCost: 200 };
        let value: SaltValue | undefined;
        const read = codeOf(() => (value = unpack(message, limits)));
        const scanned = codeOf(() => scanMap(message, limits));
        expect(scanned).toBe(read);
        if (value !== undefined) expect(isMap(value)).toBe(true);
      }),
      { numRuns: 20_000 },
    );
  });

  it('refuses values that are no map, and messages above the limit', () => {
    for (const other of [null, 1, 'x', [], Buffer.from([0xff])]) {
      expect(codeOf(() => scanMap(pack(other)))).toBe('SALT_WIRE_TYPE');
      expect(codeOf(() => unpackMap(pack(other)))).toBe('SALT_WIRE_TYPE');
    }
    expect(codeOf(() => scanMap(pack(mapOf({ a: 1 })), { maxBytes: 3 }))).toBe('SALT_WIRE_SIZE');
    expect(codeOf(() => scanMap(Buffer.alloc(0)))).toBe('SALT_WIRE_TRUNCATED');
  });

  it('knows a non-text key only by its place', () => {
    const scan = scanMap(hex('8201c0a1ffc3'));
    expect(scan.entries.map((entry) => entry.key)).toEqual([null, null]);
    expect(scan.text('1')).toBeUndefined();
  });

  it('lets the last of equal keys count', () => {
    expect(scanMap(hex('82a16101a16102')).value('a')).toBe(2);
  });

  it('reads the content of str, raw and bin of any header', () => {
    for (const head of ['a2', 'c402', 'c50002', 'c600000002', 'd902', 'da0002', 'db00000002']) {
      expect(scanMap(hex(`81a161${head}6869`)).bytes('a')).toEqual(Buffer.from('hi'));
      expect(scanMap(hex(`81${head}6869c3`)).value('hi')).toBe(true);
    }
  });
});

describe('cutFields', () => {
  it('takes out the named fields and leaves the rest byte for byte', () => {
    fc.assert(
      fc.property(anyMap, fc.array(text, { maxLength: 4 }), fc.nat(), (map, names, pick) => {
        const keys = [...map.keys()].filter((key) => typeof key === 'string');
        const cut = [...names, ...keys.slice(0, pick % (keys.length + 1))];
        const wanted: SaltMap = new Map(
          [...map].filter(([key]) => typeof key !== 'string' || !cut.includes(key)),
        );
        expect(cutFields(pack(map), cut)).toEqual(pack(wanted));
        expect(cutFields(pack(map, 'bin'), cut)).toEqual(pack(wanted, 'bin'));
      }),
      { numRuns: 150 },
    );
  });

  it('takes out every copy of a repeated key', () => {
    expect(cutFields(hex('83a16101a16202a16103'), ['a'])).toEqual(hex('81a16202'));
  });

  it('gives the same bytes back when there is nothing to cut', () => {
    const packed = pack(mapOf({ a: 1 }));
    expect(cutFields(packed, ['tok'])).toBe(packed);
  });

  it('writes the header that the new count needs', () => {
    const sixteen = new Map(Array.from({ length: 16 }, (_, index) => [`k${index}`, index]));
    expect(cutFields(pack(sixteen), ['k3']).subarray(0, 1)).toEqual(hex('8f'));
    expect(appendField(pack(sixteen), 'x', 1).subarray(0, 3)).toEqual(hex('de0011'));
    expect(mapHead(65_536)).toEqual(hex('df00010000'));
  });
});

describe('appendField', () => {
  it('adds a field at the end, in place of an older one', () => {
    fc.assert(
      fc.property(anyMap, text, anyValue, (map, key, value) => {
        const wanted = new Map(map);
        wanted.delete(key);
        wanted.set(key, value);
        expect(appendField(pack(map), key, value)).toEqual(pack(wanted));
        expect(appendField(pack(map, 'bin'), key, value, 'bin')).toEqual(pack(wanted, 'bin'));
        expect(appendPacked(scanMap(pack(map)), key, pack(value))).toEqual(pack(wanted));
      }),
      { numRuns: 100 },
    );
  });

  it('refuses bytes that are no packed map', () => {
    expect(codeOf(() => appendField(pack([1]), 'a', 1))).toBe('SALT_WIRE_TYPE');
    expect(codeOf(() => cutFields(hex('81a1'), ['a']))).toBe('SALT_WIRE_TRUNCATED');
  });
});

it('bytes that are no map are refused unread', () => {
  const broken = Buffer.from([0x93, 0x80]);
  expect(() => unpackMap(broken)).toThrow(expect.objectContaining({ code: 'SALT_WIRE_TYPE' }));
});
