import { describe, expect, it } from 'vitest';
import { pack } from './msgpack/encode.ts';
import { unpackMap } from './msgpack/splice.ts';
import { trimEvent, VALUE_TRIMMED } from './trim.ts';
import type { SaltMap } from './value.ts';
import { mapOf } from './value.ts';

function trimmed(map: SaltMap, limit: number): SaltMap {
  return unpackMap(trimEvent(pack(map, 'bin'), limit));
}

describe('trimEvent', () => {
  it('gives back what fits as it is, and anything without a limit', () => {
    const data = pack(mapOf({ a: 'x'.repeat(1000) }), 'bin');
    expect(trimEvent(data, data.length + 33)).toBe(data);
    expect(trimEvent(data, 0)).toBe(data);
    expect(trimEvent(data, data.length + 32)).not.toBe(data);
  });

  it('does as the example in Salt says', () => {
    expect(trimmed(mapOf({ a: 'b', c: 'x'.repeat(10_000) }), 100)).toEqual(
      mapOf({ a: 'b', c: VALUE_TRIMMED }),
    );
  });

  it('takes the large values first and leaves the small ones', () => {
    const map = mapOf({ big: 'x'.repeat(600), mid: 'y'.repeat(400), small: 'z'.repeat(100) });
    expect(trimmed(map, 1000)).toEqual(mapOf({ ...asRecord(map), big: VALUE_TRIMMED }));
  });

  it('goes on to smaller values until the map fits', () => {
    const map = mapOf(
      Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`k${index}`, 'x'.repeat(150)])),
    );
    const result = trimmed(map, 1000);
    expect(new Set(result.values())).toEqual(new Set([VALUE_TRIMMED]));
  });

  it('looks into maps in maps, and counts bytes and wide text as Python does', () => {
    const inner = mapOf({ bytes: Buffer.alloc(600, 0xff), wide: 'ж'.repeat(300), ok: 1 });
    expect(trimmed(mapOf({ outer: mapOf({ inner }) }), 1000)).toEqual(
      mapOf({
        outer: mapOf({ inner: mapOf({ bytes: VALUE_TRIMMED, wide: VALUE_TRIMMED, ok: 1 }) }),
      }),
    );
  });

  it('counts a list by its length only, as Python does', () => {
    const long = Array.from({ length: 2000 }, () => 'item');
    expect(trimmed(mapOf({ long }), 4000)).toEqual(mapOf({ long: VALUE_TRIMMED }));
    const heavy = ['x'.repeat(5000)];
    expect(trimmed(mapOf({ heavy }), 2000)).toEqual(mapOf({ heavy }));
  });
});

function asRecord(map: SaltMap): Record<string, string> {
  return Object.fromEntries(map as Map<string, string>);
}
