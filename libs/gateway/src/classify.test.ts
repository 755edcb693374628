import { vectorFile } from '@brine/testing';
import { mapOf, pack } from '@brine/wire';
import { aesEnvelope, clearEnvelope } from '@brine/wire/frames';
import { expect, test } from 'vitest';
import { askerOf, classify } from './classify.ts';

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

test('large loads are classified without being opened', () => {
  const tgt = Array.from({ length: 20_000 }, (_, index) => `minion-${String(index)}`);
  const publish = clearEnvelope(mapOf({ cmd: 'publish', tgt }));
  expect(classify(publish, 3)).toEqual({ class: 'clear', cmd: 'publish' });
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
