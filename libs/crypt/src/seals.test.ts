import { createHmac } from 'node:crypto';
import { existsSync } from 'node:fs';
import { unpack } from '@brine/wire';
import { readEnvelope, readPublication } from '@brine/wire/frames';
import { parsePrivateReply } from '@brine/wire/load';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { b64, vectors } from '../test/vectors.ts';
import { Crypticle, cryptoInUse } from './crypticle.ts';
import { CryptError } from './errors.ts';
import type { NativePart } from './native-seal.ts';
import { FAULT, nativePart } from './native-seal.ts';

interface Blob {
  readonly blob: string;
}
interface Requests {
  readonly requests: readonly {
    readonly key: string;
    readonly request: string;
    readonly reply: string;
    readonly reply_kind: string;
    readonly pillar_key?: string;
  }[];
}
interface Publication {
  readonly frames: readonly string[];
  readonly aes_key: string;
}

const PART = nativePart();
/** Without the native part the same is done twice with Node's, as the name of the tests shows. */
const WHAT = typeof PART === 'string' ? `Node's seal alone (${PART})` : 'Node and the native part';
const SEED = 20_261_125;
const KEY = Buffer.from(Array.from({ length: 56 }, (_, at) => 3 * at + 1)).toString('base64');
const OTHER_KEY = Buffer.alloc(56, 7).toString('base64');
const IV = Buffer.alloc(16, 0xaa);
const ONE = { node: new Crypticle(KEY, 'node'), usual: new Crypticle(KEY) };

/** The outcome: the bytes, nothing, or the code and text of the error. */
function outcome(act: () => Buffer | undefined): string | undefined {
  try {
    return act()?.toString('hex');
  } catch (error) {
    if (error instanceof CryptError) return `${error.code}: ${error.message}`;
    throw error;
  }
}

/** Opens with both, which must agree. */
function opened(blob: Uint8Array, { node, usual } = ONE): string | undefined {
  const found = outcome(() => usual.open(blob));
  expect(found).toBe(outcome(() => node.open(blob)));
  return found;
}

/** The blob again, with the MAC that a holder of the key would have put there. */
function signedAgain(blob: Buffer): Buffer {
  const signed = blob.subarray(0, Math.max(0, blob.length - 32));
  const mac = createHmac('sha256', b64(KEY).subarray(24)).update(signed).digest();
  return Buffer.concat([signed, mac]);
}

/** Each sealed blob that was recorded of Salt, with its key. */
function recorded(): [key: string, blob: Uint8Array][] {
  const { key, cases, negative, serial_sequence } = vectors<{
    readonly key: string;
    readonly cases: readonly Blob[];
    readonly negative: readonly Blob[];
    readonly serial_sequence: readonly Blob[];
  }>('crypticle');
  const blobs = [...cases, ...negative, ...serial_sequence];
  const publish = vectors<Record<string, readonly Publication[]>>('publish');
  const syndic = vectors<Requests & { readonly publications: readonly Publication[] }>('syndic');
  const { requests } = vectors<Requests>('requests');
  const publications = [
    ...publish['publications_unfiltered']!,
    ...publish['publications_filtered_traced']!,
    ...syndic.publications,
  ];
  return [
    ...blobs.map(({ blob }): [string, Buffer] => [key, b64(blob)]),
    ...publications.map(({ frames, aes_key }): [string, Uint8Array] => [
      aes_key,
      readPublication(b64(frames.at(-1)!)).load,
    ]),
    ...[...requests, ...syndic.requests].flatMap(ofRequest),
  ];
}

function ofRequest(vector: Requests['requests'][number]): [string, Uint8Array][] {
  const envelope = readEnvelope(b64(vector.request));
  if (envelope.enc !== 'aes') throw new Error('not sealed');
  const request: [string, Uint8Array] = [vector.key, envelope.load];
  if (vector.reply_kind === 'sealed') {
    return [request, [vector.key, unpack(b64(vector.reply)) as Uint8Array]];
  }
  return [request, [vector.pillar_key!, parsePrivateReply(b64(vector.reply)).pillar]];
}

it(`a Crypticle computes with ${cryptoInUse().crypto}, by what is built here`, () => {
  const isBuilt = existsSync(new URL('../native/dist/crypticle.node', import.meta.url));
  expect(cryptoInUse()).toMatchObject({ crypto: isBuilt ? 'native' : 'node' });
});

describe(`${WHAT}: one outcome`, () => {
  const all = recorded();

  it(`of ${all.length} recorded blobs, under their key and another`, () => {
    expect(all.length).toBeGreaterThan(150);
    let open = 0;
    for (const [key, blob] of all) {
      const both = { node: new Crypticle(key, 'node'), usual: new Crypticle(key) };
      const found = opened(blob, both);
      if (found === undefined || found.startsWith('SALT')) continue;
      open += 1;
      const iv = blob.subarray(0, 16);
      const again = both.usual.seal(Buffer.from(found, 'hex'), { iv });
      expect(again.equals(blob)).toBe(true);
      expect(opened(blob)).toMatch(/^SALT_CRYPT_MAC: /);
    }
    expect(open).toBeGreaterThan(140);
  });

  it('of bodies up to 70 KiB, with and without a nonce', () => {
    const body = fc.oneof(
      fc.uint8Array({ maxLength: 70 }),
      fc.integer({ max: 71_680, min: 0 }).map((length) => Buffer.alloc(length, `${length} `)),
    );
    const nonce = fc.oneof(fc.constant(''), fc.stringMatching(/^[0-9a-f]{32}$/), fc.string());
    const property = fc.property(body, nonce, (bytes, text) => {
      const blob = ONE.node.seal(bytes, { iv: IV, nonce: text });
      expect(ONE.usual.seal(bytes, { iv: IV, nonce: text }).equals(blob)).toBe(true);
      const plain = Buffer.concat([Buffer.from(text), bytes]);
      expect(opened(blob) === plain.toString('hex')).toBe(true);
    });
    fc.assert(property, { seed: SEED, numRuns: 600 });
  });

  it('of 20,000 blobs that were changed, half of them by a holder of the key', () => {
    const base = [0, 1, 7, 8, 9, 40, 150, 350].map((length) =>
      ONE.node.seal(Buffer.alloc(length, length), { iv: IV }),
    );
    const change = fc.record({
      blob: fc.constantFrom(...base),
      at: fc.nat({ max: 400 }),
      to: fc.nat({ max: 255 }),
      cut: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat({ max: 80 })),
      again: fc.boolean(),
    });
    const seen = new Map<string, number>();
    const property = fc.property(change, ({ blob, at, to, cut, again }) => {
      const changed = Buffer.from(blob.subarray(0, Math.max(0, blob.length - cut)));
      if (changed.length > 0) changed[at % changed.length] = to;
      const found = opened(again ? signedAgain(changed) : changed);
      const kind = /^SALT_CRYPT_\w+/.exec(found ?? 'nothing')?.[0] ?? (found ? 'body' : 'nothing');
      seen.set(kind, (seen.get(kind) ?? 0) + 1);
    });
    fc.assert(property, { seed: SEED, numRuns: 20_000 });
    const kinds = ['SALT_CRYPT_LENGTH', 'SALT_CRYPT_MAC', 'body', 'nothing'];
    expect([...seen.keys()].sort()).toEqual(kinds);
    expect(Math.min(...seen.values())).toBeGreaterThan(500);
  });

  it('of all lengths from 0 to 200, signed by a holder of the key or not', () => {
    for (let length = 0; length <= 200; length += 1) {
      const blob = Buffer.alloc(length, length);
      expect(opened(blob)).toMatch(/^SALT_CRYPT_MAC: /);
      opened(signedAgain(blob));
    }
  });

  it('of all numbers of padding bytes', () => {
    const blob = ONE.node.seal(Buffer.alloc(40, 1), { iv: IV });
    for (let last = 0; last < 256; last += 1) {
      // The last byte of the last block is XORed with that of the block before.
      const changed = Buffer.from(blob);
      changed[blob.length - 32 - 16 - 1]! ^= last;
      opened(signedAgain(changed));
    }
  });

  it('of views into larger memory, and of arrays that are no Buffers', () => {
    const blob = ONE.node.seal(Buffer.from('body'), { iv: new Uint8Array(16) });
    const wide = new Uint8Array(300).fill(9);
    wide.set(blob, 100);
    const view = wide.subarray(100, 100 + blob.length);
    expect(opened(view)).toBe(Buffer.from('body').toString('hex'));
    for (const one of [ONE.node, ONE.usual]) {
      expect(one.seal(wide.subarray(0, 5), { iv: wide.subarray(0, 16) }).length).toBe(64);
      expect(one.open(view)).toBeInstanceOf(Buffer);
    }
  });

  it('of key strings and IVs of other lengths', () => {
    for (const crypto of ['node', undefined] as const) {
      for (const length of [0, 1, 24, 55, 57, 112]) {
        const text = Buffer.alloc(length, 1).toString('base64');
        const code = { code: 'SALT_CRYPT_KEY' };
        expect(() => new Crypticle(text, crypto)).toThrow(expect.objectContaining(code));
      }
      const box = new Crypticle(OTHER_KEY, crypto);
      for (const length of [0, 15, 17, 32]) {
        const found = outcome(() => box.seal(Buffer.alloc(1), { iv: Buffer.alloc(length) }));
        expect(found).toBe(`SALT_CRYPT_LENGTH: IV has ${length} bytes`);
      }
    }
  });
});

if (typeof PART === 'string') {
  it(`without the native part (${PART}) Node's opens what it sealed`, () => {
    expect(cryptoInUse()).toEqual({ crypto: 'node', why: PART });
    expect(ONE.usual.open(ONE.usual.seal(Buffer.from('body')))).toEqual(Buffer.from('body'));
  });
} else describeNative(PART);

function describeNative(part: NativePart): void {
  describe('the native part', () => {
    const key = part.newKey(b64(KEY));
    const body = Buffer.from('the body');
    const blob = ONE.node.seal(body, { iv: IV });

    it('opens and seals in the middle of larger arrays, and writes nothing beside', () => {
      const bundle = Buffer.concat([Buffer.alloc(5, 1), blob, Buffer.alloc(5, 2)]);
      const arena = Buffer.alloc(100, 3);
      expect(part.open(key, bundle, 5, 5 + blob.length, arena, 10)).toBe(body.length);
      expect(arena.subarray(18, 18 + body.length)).toEqual(body);
      expect(arena.subarray(0, 10)).toEqual(Buffer.alloc(10, 3));
      expect(arena.subarray(10 + 32)).toEqual(Buffer.alloc(58, 3));

      const out = Buffer.alloc(100, 4);
      out.set(IV, 7);
      out.set(body, 7 + 24);
      expect(part.seal(key, out, 7, body.length)).toBe(blob.length);
      expect(out.subarray(7, 7 + blob.length)).toEqual(blob);
      expect(out.subarray(0, 7)).toEqual(Buffer.alloc(7, 4));
      expect(out.subarray(7 + blob.length)).toEqual(Buffer.alloc(93 - blob.length, 4));
    });

    it('names the fault, and decrypts nothing under a wrong MAC', () => {
      const arena = Buffer.alloc(64, 3);
      const open = (bytes: Buffer): number => part.open(key, bytes, 0, bytes.length, arena, 0);
      expect(open(Buffer.from(blob).fill(0, 20, 21))).toBe(FAULT.MAC);
      expect(open(blob.subarray(1))).toBe(FAULT.MAC);
      expect(open(Buffer.alloc(0))).toBe(FAULT.MAC);
      expect(arena).toEqual(Buffer.alloc(64, 3));
      expect(open(signedAgain(Buffer.alloc(48)))).toBe(FAULT.LENGTH);
      expect(open(signedAgain(Buffer.alloc(64)))).toBe(FAULT.PREFIX);
    });

    it('throws at ranges that do not fit, and touches nothing', () => {
      const arena = Buffer.alloc(64, 3);
      const ranges: [start: number, end: number, at: number][] = [
        [0, blob.length + 1, 0],
        [-1, blob.length, 0],
        [9, 8, 0],
        [0, blob.length, 33],
        [0, blob.length, 65],
        [0, blob.length, -1],
        [0, Number.MAX_VALUE, 0],
        [0, blob.length, 2 ** 32],
      ];
      for (const [start, end, at] of ranges) {
        expect(() => part.open(key, blob, start, end, arena, at)).toThrow(/a range is outside/);
      }
      const places: [at: number, length: number][] = [
        [0, 8],
        [1, 0],
        [65, 0],
        [-1, 0],
        [0, -1],
        [0, Number.MAX_VALUE],
      ];
      const small = arena.subarray(0, 64);
      for (const [at, length] of places) {
        expect(() => part.seal(key, small, at, length)).toThrow(/a range is outside/);
      }
      expect(arena).toEqual(Buffer.alloc(64, 3));
      expect(() => part.newKey(Buffer.alloc(55))).toThrow(/a range is outside/);
    });

    it('throws where a blob lies where its body is to go', () => {
      const arena = Buffer.concat([blob, Buffer.alloc(64)]);
      const open = (at: number): number => part.open(key, arena, 0, blob.length, arena, at);
      expect(() => open(0)).toThrow(/lies where its body/);
      expect(() => open(blob.length - 1)).toThrow(/lies where its body/);
      expect(open(blob.length)).toBe(body.length);
    });

    it('throws at arguments of another kind', () => {
      const calls: unknown[][] = [
        [],
        [{}, blob, 0, blob.length, Buffer.alloc(64), 0],
        [key, 'text', 0, 4, Buffer.alloc(64), 0],
        [key, new Uint16Array(64), 0, 64, Buffer.alloc(64), 0],
        [key, blob, '0', blob.length, Buffer.alloc(64), 0],
        [key, blob, 0, blob.length, undefined, 0],
        [key, blob, 0, blob.length, new DataView(new ArrayBuffer(64)), 0],
      ];
      for (const call of calls) {
        expect(() => (part.open as (...call: unknown[]) => number)(...call)).toThrow(
          /an argument is missing or of another kind/,
        );
      }
      const gone = new Uint8Array(64);
      structuredClone(gone, { transfer: [gone.buffer] });
      expect(() => part.seal(key, gone, 0, 0)).toThrow(/a range is outside/);
    });
  });
}
