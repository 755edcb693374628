import { gunzipSync } from 'node:zlib';
import { unpackTar } from 'modern-tar';
import { expect, test } from 'vitest';
import { SecretScanner } from '../secrets/secret-scanner.ts';
import { cleanPart, packBundle } from './pack-bundle.ts';

const SECRET = 'correct-horse-battery';
const scanner = new SecretScanner([{ from: 'option x', value: SECRET }]);
const part = (text: string, isLines = true) => ({
  name: 'a.txt',
  isLines,
  make: async () => text,
});

test('of lines those with a secret are left out', async () => {
  expect(await cleanPart(part(`one\n${SECRET}\ntwo`), scanner)).toEqual({
    name: 'a.txt',
    text: 'one\ntwo',
    note: '1 lines left out (option x)',
  });
});

test('a part that is no list of lines is removed as a whole, and says so', async () => {
  const found = await cleanPart(part(`{"a":\n"${SECRET}"}`, false), scanner);
  expect(found.note).toBe('removed: line 2 contained a secret (option x)');
  expect(found.text).toBe(`${found.note}\n`);
});

test('a secret over two lines removes the part', async () => {
  const split = new SecretScanner([{ from: 'option y', value: 'correct\nhorse' }]);
  const found = await cleanPart(part('x correct\nhorse y'), split);
  expect(found).toMatchObject({ note: 'removed: line 1 contained a secret (option y)' });
});

test('a part that fails says why, without what the error knew', async () => {
  const failing = { ...part(''), make: () => Promise.reject(new Error(`at ${SECRET}`)) };
  const found = await cleanPart(failing, scanner);
  expect(found.text).not.toContain(SECRET);
  const plain = { ...part(''), make: () => Promise.reject(new Error('no such file')) };
  expect(await cleanPart(plain, scanner)).toMatchObject({ note: 'not collected: no such file' });
});

test('a part of any length is cut, and says so', async () => {
  const found = await cleanPart(part('x'.repeat(9 * 1024 * 1024)), new SecretScanner([]));
  expect(found.text).toHaveLength(8 * 1024 * 1024);
  expect(found.note).toMatch(/^cut after/);
});

test('the packed parts are files of one directory, for their owner alone', async () => {
  const packed = await packBundle('night', [{ name: 'logs/a.log', text: 'örtlich' }], scanner);
  const entries = await unpackTar(gunzipSync(packed));
  expect(entries.map(({ header }) => [header.name, header.mode])).toEqual([
    ['night/logs/a.log', 0o600],
  ]);
  expect(Buffer.from(entries[0]?.data ?? []).toString()).toBe('örtlich');
});

test('nothing is packed that contains a secret after all', async () => {
  const parts = [{ name: 'a', text: `x ${SECRET}` }];
  await expect(packBundle('night', parts, scanner)).rejects.toThrow('contains a secret (option x)');
});
