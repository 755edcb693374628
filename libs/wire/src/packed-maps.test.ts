import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyMap } from '../test/values.ts';
import { WireError } from './errors.ts';
import { pack } from './msgpack/encode.ts';
import { PackedMaps } from './packed-maps.ts';
import { mapOf } from './value.ts';

test('a map reads as the one that was packed', () => {
  fc.assert(
    fc.property(fc.array(anyMap, { maxLength: 5 }), (maps) => {
      const kept = new PackedMaps();
      for (const [at, map] of maps.entries()) kept.set(String(at), pack(map));
      for (const [at, map] of maps.entries()) {
        const found = kept.get(String(at));
        expect(found).toBeInstanceOf(Map);
        expect(found?.size).toBe(map.size);
        expect([...(found ?? [])]).toEqual([...map]);
        expect([...(found?.keys() ?? [])]).toEqual([...map.keys()]);
        expect([...(found?.values() ?? [])]).toEqual([...map.values()]);
        const walked: unknown[] = [];
        found?.forEach((value, key) => walked.push([key, value]));
        expect(walked).toEqual([...map]);
        for (const [key, value] of map) {
          if (typeof key !== 'string') continue;
          expect(found?.has(key)).toBe(true);
          expect(found?.get(key)).toEqual(value);
        }
        expect(found?.has('no such key')).toBe(false);
        expect(found?.get('no such key')).toBeUndefined();
      }
    }),
  );
});

test('equal values of different maps are one', () => {
  const kept = new PackedMaps();
  kept.set('a', pack(mapOf({ own: 1, flags: ['fpu', 'vme'] })));
  kept.set('b', pack(mapOf({ flags: ['fpu', 'vme'] })));
  expect(kept.get('a')?.get('flags')).toBe(kept.get('b')?.get('flags'));
});

test('a value that is replaced or deleted leaves the others as they are', () => {
  const kept = new PackedMaps();
  for (const id of ['a', 'b']) kept.set(id, pack(mapOf({ os: 'Debian', own: id })));
  expect(kept.get('a')?.get('os')).toBe('Debian');
  kept.set('a', pack(mapOf({ os: 'Rocky' })));
  kept.delete('nobody');
  expect([...(kept.get('a') ?? [])]).toEqual([['os', 'Rocky']]);
  expect(kept.get('b')?.get('os')).toBe('Debian');
  kept.delete('b');
  expect([kept.size, kept.get('b')]).toEqual([1, undefined]);
  kept.clear();
  expect([kept.size, kept.get('a')]).toEqual([0, undefined]);
});

test('bytes that are no map are refused, and the maps before stay', () => {
  const kept = new PackedMaps();
  kept.set('a', pack(mapOf({ os: 'Debian' })));
  expect(() => kept.set('a', pack('text'))).toThrow(WireError);
  expect(kept.get('a')?.get('os')).toBe('Debian');
});

test('a key that is packed in two ways counts once, with its last value', () => {
  const kept = new PackedMaps();
  kept.set('a', Buffer.from('8201a161cc01a162', 'hex'));
  expect([...(kept.get('a') ?? [])]).toEqual([[1, 'b']]);
  expect(kept.get('a')?.size).toBe(1);
});
