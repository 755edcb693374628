import { isDeepStrictEqual } from 'node:util';
import { mutated, randomFrom, seedFrames, vectorFile } from '@brine/testing';
import { mapOf, pack, type SaltMap, type SaltValue } from '@brine/wire';
import { aesEnvelope, clearEnvelope, minionOfSealed } from '@brine/wire/frames';
import { COMMAND_NAME } from '@brine/wire/load';
import { expect, test } from 'vitest';
import { askerOf, classify, classifyInFull } from './classify.ts';

interface Vector {
  readonly name: string;
  readonly request: string;
  readonly reply: string;
}

const { odd, requests } = vectorFile<{ odd: Vector[]; requests: Vector[] }>('requests.json');

const REFUSED_HERE = [
  'auth nul id',
  'auth int id',
  'aes v3 no id',
  'aes load map',
  'aes v3 id traversal',
  'not msgpack',
  'empty',
  'list',
  'map',
  'text',
  'clear load text',
  'enc other',
];

test.each(REFUSED_HERE)('%s is refused here with the very bytes of a stock master', (name) => {
  const vector = odd.find((one) => one.name === name);
  const found = classify(Buffer.from(vector!.request, 'base64'), 0);
  expect(found.class).toBe('refused');
  if (found.class === 'refused') expect(found.reply.toString('base64')).toBe(vector!.reply);
});

test('every other odd request goes to a worker', () => {
  for (const vector of odd.filter(({ name }) => !REFUSED_HERE.includes(name))) {
    const found = classify(Buffer.from(vector.request, 'base64'), 0);
    const expected = vector.name.startsWith('auth')
      ? 'auth'
      : vector.name.startsWith('aes')
        ? 'aes'
        : 'clear';
    expect([vector.name, found.class]).toEqual([vector.name, expected]);
  }
});

test('requests of real minions are sealed; from version 3 the envelope has the id', () => {
  for (const vector of requests) {
    const found = classify(Buffer.from(vector.request, 'base64'), 0);
    expect(found.class).toBe('aes');
  }
});

test('a version below the minimum is refused, clear or sealed', () => {
  const old = aesEnvelope({ load: Buffer.alloc(100), version: 2 });
  expect(classify(old, 3)).toEqual({ class: 'refused', reply: pack('bad load') });
  expect(classify(old, 2).class).toBe('aes');
  const clear = clearEnvelope(mapOf({ cmd: 'ping' }), 2);
  expect(classify(clear, 3)).toEqual({ class: 'refused', reply: pack('bad load') });
});

test('a publish that names its command is not taken for one that does not', () => {
  const found = (load: SaltMap): unknown => classify(clearEnvelope(load), 3);
  expect(found(mapOf({ cmd: 'publish', [COMMAND_NAME]: 'c' }))).toMatchObject({ named: true });
  expect(found(mapOf({ cmd: 'publish' }))).not.toHaveProperty('named');
});

test('large loads are classified without being opened', () => {
  const tgt = Array.from({ length: 20_000 }, (_, index) => `minion-${String(index)}`);
  const publish = clearEnvelope(mapOf({ cmd: 'publish', tgt }));
  expect(classify(publish, 3)).toEqual({ class: 'clear', cmd: 'publish' });
  const named = clearEnvelope(mapOf({ cmd: 'publish', tgt, [COMMAND_NAME]: 'c' }));
  expect(classify(named, 3)).toEqual({ class: 'clear', cmd: 'publish', named: true });
  const sealed = aesEnvelope({ load: Buffer.alloc(200_000), version: 3, id: 'web.1' });
  expect(classify(sealed, 3)).toEqual({ class: 'aes', minion: 'web.1' });
  const login = clearEnvelope(mapOf({ cmd: '_auth', id: 'a', pub: 'x'.repeat(100_000) }));
  expect(classify(login, 3)).toEqual({ class: 'auth', minion: 'a' });
  const odd = clearEnvelope(mapOf({ x: 'y'.repeat(100_000) }));
  expect(classify(odd, 3)).toEqual({ class: 'clear' });
});

test.each([
  [{ key: 'k', user: 'root' }, false],
  [{ eauth: 'pam', username: 'anne', password: 'p' }, true],
  [{ token: 't', key: 'k' }, true],
])('requests with the credentials %o are limited: %s', (credentials, isLimited) => {
  const load = mapOf({ cmd: 'publish', fun: 'test.ping', ...credentials });
  const found = classify(clearEnvelope(load, 3), 0);
  if (found.class !== 'clear') throw new Error(found.class);
  expect(askerOf(found)).toEqual(isLimited ? { asker: found.user } : {});
});

const CASES = Number(process.env['BRINE_CLASSIFY_CASES'] ?? 100_000);
const IDS = ['web-1', 'a'.repeat(31), 'a'.repeat(32), 'b.'.repeat(100), '', '.', '..', '.hidden'];
const ODD_IDS = ['a/b', 'a\\b', 'a\0', 'grün', '\ud800', 7, null, Buffer.from('web-1')];

/** An envelope as minions send it, in any order of its keys, with something odd now and then. */
function someEnvelope(below: (limit: number) => number): Buffer {
  const one = <T>(list: readonly T[]): T => list[below(list.length)] as T;
  const sizes = [0, 1, 200, 255, 256, 300, ...(below(20) === 0 ? [65_300, 65_535, 65_536] : [])];
  const isOdd = below(3) === 0;
  const fields: [string, SaltValue][] = [
    ['enc', isOdd ? one(['aes', 'clear', 'AES', Buffer.from('aes')]) : 'aes'],
    ['load', isOdd && below(4) === 0 ? one(['text', 1, null]) : Buffer.alloc(one(sizes), 7)],
    ['version', isOdd ? one([-1, 0, 1, 127, 128, 2 ** 40, '3', null]) : one([2, 3])],
    ['id', isOdd ? one<SaltValue>(ODD_IDS) : one(IDS)],
  ];
  if (below(2) === 0)
    fields.push(['enc_algo', one(['OAEP-SHA1', 'x'.repeat(40), Buffer.alloc(3)])]);
  if (below(2) === 0) fields.push(['sig_algo', 'PKCS1v15-SHA1']);
  if (isOdd && below(3) === 0) fields.push([one(['ts', 'nonce', 'Enc']), 1]);
  if (isOdd && below(3) === 0) fields.splice(below(fields.length), 1);
  for (let left = below(4); left > 0; left -= 1) fields.push(...fields.splice(below(3), 1));
  const map: SaltMap = new Map(fields);
  const bytes = pack(map);
  // The last key twice: of two the last one counts.
  if (!isOdd || below(4) !== 0 || fields.length > 7) return bytes;
  const again = pack(new Map([one(fields)]));
  bytes[0] = 0x80 | (fields.length + 1);
  return Buffer.concat([bytes, again.subarray(1)]);
}

test('a request read by its offsets is classified and refused as one that is read in full', () => {
  const random = randomFrom(Number(process.env['BRINE_FUZZ_SEED'] ?? 1));
  const below = (limit: number): number => Math.floor(random() * limit);
  const seeds = seedFrames();
  const found = { auth: 0, clear: 0, aes: 0, refused: 0, byOffsets: 0 };
  for (let n = 0; n < CASES; n += 1) {
    let bytes = n % 2 === 0 ? someEnvelope(below) : mutated(seeds, random).bytes;
    // Mostly the heads of keys and values, which mean nothing.
    if (n % 4 === 0) {
      const at = below(2) === 0 ? below(Math.min(60, bytes.length)) : below(bytes.length);
      if (below(8) === 0) bytes = bytes.subarray(0, at);
      else bytes[at] = below(2) === 0 ? below(256) : (bytes[at] ?? 0) ^ (1 << below(8));
    }
    const minimum = below(5);
    const inFull = classifyInFull(bytes, minimum);
    if (!isDeepStrictEqual(classify(bytes, minimum), inFull)) {
      expect([bytes.toString('base64'), classify(bytes, minimum)]).toEqual([minimum, inFull]);
    }
    found[inFull.class] += 1;
    if (minionOfSealed(bytes, minimum) !== undefined) found.byOffsets += 1;
  }
  for (const count of Object.values(found)) expect(count).toBeGreaterThan(CASES / 50);
});
