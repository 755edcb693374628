import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyMap } from '../../test/values.ts';
import { vectors } from '../../test/vectors.ts';
import { WireError } from '../errors.ts';
import { pack } from '../msgpack/encode.ts';
import { scanMap } from '../msgpack/scan.ts';
import { unpackMap } from '../msgpack/splice.ts';
import type { SaltMap, SaltValue } from '../value.ts';
import { mapOf, SaltConstant, SaltDatetime } from '../value.ts';
import { toJson } from './json.ts';
import { JsonTranscoder } from './transcode.ts';

const VECTORS = ['auth', 'crypticle', 'events', 'jobcache', 'publish', 'requests', 'syndic'];
const MUTATIONS = 30_000;

const transcoder = new JsonTranscoder();

/** What the slow way makes of a message: JSON, or the code of what it refuses it for. */
function slowly(bytes: Uint8Array): { readonly json?: string; readonly refused?: string } {
  try {
    return { json: toJson(unpackMap(bytes)).json };
  } catch (error) {
    if (error instanceof WireError) return { refused: error.code };
    throw error;
  }
}

/** Compares both ways; whether the transcoder wrote the message. */
function isWrittenAlike(bytes: Uint8Array): boolean {
  const read = transcoder.read(bytes);
  if (read === undefined) return false;
  const { json } = slowly(bytes);
  if (read.json !== json) expect(read.json, Buffer.from(bytes).toString('hex')).toBe(json);
  expect(read.scan.entries).toEqual(scanMap(bytes).entries);
  return true;
}

/** A map whose JSON has escape forms, or which is none. */
function isUnusual(map: SaltMap): boolean {
  return !toJson(map).plain;
}

/** All recorded bytes that are a map, and the maps in sealed and framed ones are among them. */
function recorded(): readonly Buffer[] {
  const found = new Map<string, Buffer>();
  const look = (value: unknown): void => {
    if (typeof value === 'object' && value !== null) Object.values(value).forEach(look);
    if (typeof value !== 'string' || !/^[A-Za-z0-9+/]+=*$/.test(value)) return;
    const bytes = Buffer.from(value, 'base64');
    // Events have a tag before their map.
    const text = bytes.toString('latin1');
    for (const start of [0, text.indexOf('\n\n') + 2, 4]) {
      const part = bytes.subarray(start);
      if (slowly(part).json !== undefined) found.set(part.toString('base64'), part);
    }
  };
  for (const name of VECTORS) look(vectors<unknown>(name));
  return [...found.values()];
}

/** Numbers below a bound, the same at each run (mulberry32). */
function drawing(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** Bytes with some of them changed, left out, doubled, or cut off. */
function mutated(bytes: Buffer, draw: (below: number) => number): Buffer {
  let out = Buffer.from(bytes);
  for (let times = 1 + draw(3); times > 0; times -= 1) {
    const at = draw(out.length + 1);
    const some = 1 + draw(4);
    switch (draw(5)) {
      case 0:
        out[at] = draw(256);
        break;
      case 1:
        out = Buffer.concat([out.subarray(0, at), out.subarray(at + some)]);
        break;
      case 2:
        out = Buffer.concat([out.subarray(0, at), out.subarray(Math.max(0, at - some))]);
        break;
      case 3:
        // Type bytes, most of them of the long forms.
        out[at] = 0xc0 + draw(32);
        break;
      default:
        out = out.subarray(0, draw(20) === 0 ? at : out.length);
    }
  }
  return out;
}

describe('transcoding', () => {
  it('gives the same JSON and fields for every recorded map', () => {
    const maps = recorded();
    const written = maps.filter(isWrittenAlike);
    // The rest are sealed, or are log-ins with keys.
    expect(written.length).toBeGreaterThan(200);
    for (const bytes of maps) {
      if (!written.includes(bytes)) expect(isUnusual(unpackMap(bytes))).toBe(true);
    }
  });

  it('writes all that needs no escape form, and that alone', () => {
    fc.assert(
      fc.property(anyMap, fc.constantFrom('raw' as const, 'bin' as const), (map, mode) => {
        const packed = pack(map, mode);
        expect(isWrittenAlike(packed)).toBe(!isUnusual(map) && !looksEscaped(map));
      }),
      { numRuns: 500 },
    );
  });

  it('gives the same for changed bytes, or leaves them to the slow way', () => {
    const draw = drawing(1);
    const plain = fc.sample(anyMap, { numRuns: 300, seed: 1 }).map((map) => Buffer.from(pack(map)));
    const corpus = [...recorded(), ...plain].filter(
      (packed) => packed.length < 4_000 && isWrittenAlike(packed),
    );
    let written = 0;
    for (let run = 0; run < MUTATIONS; run += 1) {
      const bytes = mutated(corpus[draw(corpus.length)] as Buffer, draw);
      written += Number(isWrittenAlike(bytes));
    }
    expect(written).toBeGreaterThan(MUTATIONS / 8);
  });

  it('writes numbers of all forms', () => {
    for (const hex of [
      ...['00', '7f', 'e0', 'ff', 'cc00', 'ccff', 'cd0000', 'cdffff', 'ce00000000', 'ceffffffff'],
      ...['cf0000000000000000', 'cfffffffffffffffff', 'd080', 'd07f', 'd18000', 'd280000000'],
      ...['d38000000000000000', 'd37fffffffffffffff', 'd3ffffffffffffffff', 'ca3fc00000'],
      ...['ca00000001', 'ca7f7fffff', 'ca80000000', 'cb3ff0000000000000', 'cb3fb999999999999a'],
      ...['cb8000000000000000', 'cb7fefffffffffffff', 'cb0000000000000001', 'cb4340000000000001'],
    ]) {
      expect(isWrittenAlike(Buffer.from(`81a178${hex}`, 'hex')), hex).toBe(true);
    }
  });

  it('writes texts of all forms and lengths', () => {
    const texts = ['', 'a', '"\\/\b\f\n\r\t\u0001\u001f\u007f', 'é\ufeff\u2028😀'];
    for (const text of texts) {
      for (const times of [1, 31, 100, 1_000, 30_000]) {
        const load = mapOf({
          [text]: text.repeat(times),
          list: [text, `${'x'.repeat(300)}${text}`],
        });
        expect(isWrittenAlike(pack(load, 'bin'))).toBe(true);
        expect(isWrittenAlike(pack(load, 'raw'))).toBe(true);
      }
    }
  });

  it('has room for what grows most', () => {
    for (const hex of [
      'c2',
      'ff',
      'd080',
      'a101',
      'caff7fffff',
      'cbffefffffffffffff',
      '80',
      '90',
    ]) {
      const times = 0xffff;
      expect(isWrittenAlike(bytes(`81a178dcffff${hex.repeat(times)}`)), hex).toBe(true);
    }
    expect(isWrittenAlike(pack(mapOf({ x: '\u0001'.repeat(1_000_000) })))).toBe(true);
  });

  it('keeps the fields of one message apart from those of the next', () => {
    const first = transcoder.read(pack(mapOf({ a: 'é', b: [1] })));
    const second = transcoder.read(pack(mapOf({ b: 2 })));
    expect(first?.json).toBe('{"a":"é","b":[1]}');
    expect(first?.scan.value('b')).toEqual([1]);
    expect(second?.json).toBe('{"b":2}');
    expect(second?.scan.has('a')).toBe(false);
  });
});

const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex');
/** A map around so many lists, one in the other. */
const nested = (lists: number): Buffer => bytes(`81a161${'91'.repeat(lists - 1)}90`);
const keys = (count: number): SaltMap =>
  new Map(Array.from({ length: count }, (_, n) => [`key ${n}`, n]));
const TIME = '20261120T10:00:00.1';
/** A map of many keys, the last of them like the first. */
const manyTwice = Buffer.concat([
  bytes('de0015'),
  pack(keys(20)).subarray(3),
  bytes('a56b6579203000'),
]);

/** What the slow way gives is named, so that a case proves itself. */
const SLOW: readonly (readonly [string, Uint8Array, string])[] = [
  ['bytes that are no text', pack(mapOf({ a: Buffer.of(0xff) })), '{"a":{"$bytes":"/w=="}}'],
  ['a NUL', pack(mapOf({ a: 'x\0' })), '{"a":{"$text":"eAA="}}'],
  ['a NUL in a key', pack(mapOf({ 'x\0': 1 })), '{"$map":[[{"$text":"eAA="},1]]}'],
  ['half of a pair in UTF-8', bytes('81a161a3eda080'), '{"a":{"$bytes":"7aCA"}}'],
  ['NaN', pack(mapOf({ a: Number.NaN })), '{"a":{"$float":"nan"}}'],
  ['an infinite number', pack(mapOf({ a: -Infinity })), '{"a":{"$float":"-inf"}}'],
  ['a key that is a number', pack(new Map([[1, 2]])), '{"$map":[[1,2]]}'],
  ['a key that is null', pack(new Map([[null, 2]])), '{"$map":[[null,2]]}'],
  ['a key that is bytes', bytes('81a1ff02'), '{"$map":[[{"$bytes":"/w=="},2]]}'],
  ['what looks like an escape form', pack(mapOf({ $text: 1 })), '{"$map":[["$text",1]]}'],
  ['one key that begins as those do', pack(mapOf({ $a: 1 })), '{"$a":1}'],
  ['a key that comes twice', bytes('82a16101a16102'), '{"a":2}'],
  ['a key twice in two forms', bytes('82a16101c4016102'), '{"a":2}'],
  ['a key twice among many', manyTwice, toJson(keys(20)).json],
  ['keys of one hash', pack(mapOf({ costarring: 1, liquid: 2 })), '{"costarring":1,"liquid":2}'],
  ['a datetime', pack(mapOf({ a: new SaltDatetime(TIME) })), `{"a":{"$datetime":"${TIME}"}}`],
  ['a constant', pack(mapOf({ a: new SaltConstant('N', 1) })), '{"a":{"$const":["N",1]}}'],
  ['text in an extension', bytes('81a161c702057879'), '{"a":"xy"}'],
  ['a name in an extension', bytes('81d40561a178'), '{"a":"x"}'],
];

describe('the slow way is for', () => {
  it.each(SLOW)('%s', (_what, packed, json) => {
    expect(slowly(packed)).toEqual({ json });
    expect(transcoder.read(packed)).toBeUndefined();
  });

  it('a message above 1 MiB', () => {
    for (const [length, isWritten] of [
      [1024 * 1024, true],
      [1024 * 1024 + 1, false],
    ] as const) {
      const packed = pack(mapOf({ a: 'x'.repeat(length - 8) }));
      expect(packed.length).toBe(length);
      expect(isWrittenAlike(packed)).toBe(isWritten);
    }
  });

  it.each<readonly [string, Uint8Array, string]>([
    ['no bytes', bytes(''), 'SALT_WIRE_TRUNCATED'],
    ['no map', pack([1]), 'SALT_WIRE_TYPE'],
    ['no type', bytes('81a161c1'), 'SALT_WIRE_TYPE'],
    ['missing bytes', bytes('81a161a261'), 'SALT_WIRE_TRUNCATED'],
    ['missing entries', bytes('8fa16101'), 'SALT_WIRE_TRUNCATED'],
    ['a missing length', bytes('81a161da00'), 'SALT_WIRE_TRUNCATED'],
    ['bytes left over', bytes('81a1610101'), 'SALT_WIRE_TRAILING'],
    ['a key that is a list', bytes('819001'), 'SALT_WIRE_KEY'],
    ['too many levels', nested(512), 'SALT_WIRE_DEPTH'],
    ['an extension that is no datetime', bytes('81a161d44e78'), 'SALT_WIRE_VALUE'],
  ])('what is refused: %s', (_what, packed, code) => {
    expect(slowly(packed)).toEqual({ refused: code });
    expect(transcoder.read(packed)).toBeUndefined();
  });

  it('nothing that nests as deep as it may', () => {
    expect(isWrittenAlike(nested(511))).toBe(true);
  });
});

/** A map of one key that begins with `$`, anywhere. */
function looksEscaped(value: SaltValue): boolean {
  if (value instanceof SaltConstant || value instanceof SaltDatetime) return true;
  if (Array.isArray(value)) return value.some(looksEscaped);
  if (!(value instanceof Map)) return false;
  const [only] = value.keys();
  const isOne = value.size === 1 && typeof only === 'string' && only.startsWith('$');
  return isOne || [...value.values()].some(looksEscaped);
}
