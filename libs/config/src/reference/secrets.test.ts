import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { knownSecrets } from './effective.ts';
import { maskSecrets, secretsIn } from './mask.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-secrets-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const VALUE = {
  password: 'one-1',
  list: [{ token: 'two-2' }, 'https://u:three-3@h/x', 'https://four-4@h/x'],
  'https://u:five-5@h/y': { name: 'h' },
  text: 'host=db password=six-6 user=u',
  numbers: { api_key: 7_007 },
  at: 'https://u:nine@9@h/x',
  s3: { keyid: 'u', key: 'ten-10' },
  escaped: 'postgres://u:ei%40ght@db/x',
};
const SECRETS = [
  'nine@9',
  'ten-10',
  'one-1',
  'two-2',
  'three-3',
  'four-4',
  'five-5',
  'six-6',
  '7007',
  'ei@ght',
];

test('every value that is masked is known as a secret', () => {
  const found = secretsIn('x', VALUE);
  for (const secret of SECRETS) expect(found).toContain(secret);
  const masked = JSON.stringify(maskSecrets('x', VALUE));
  for (const secret of found) expect(masked).not.toContain(secret);
});

test('maps of the wire are looked through too', () => {
  const map = new Map<unknown, unknown>([
    ['bindpw', 'one-1'],
    [1, new Map([['secret', ['two-2']]])],
  ]);
  expect(secretsIn('x', map)).toEqual(['one-1', 'two-2']);
});

test('what is none has no secrets', () => {
  expect(secretsIn('x', { passwords: 'a', url: 'https://h/x', n: 1, none: null })).toEqual([]);
  expect(secretsIn('password', undefined)).toEqual([]);
});

test('secrets of a file have the name of their option, also of options that no one knows', () => {
  writeFileSync(
    join(dir, 'master'),
    `gitfs_password: one-1
my_thing: { api_key: two-2 }
brine:
  postgres: { url: "postgres://u:three-3@db/x" }
`,
  );
  const found = knownSecrets({ configDir: dir, env: { NATS_URL: 'nats://u:four-4@127.0.0.1' } });
  const named = Object.fromEntries(found.map(({ option, value }) => [value, option]));
  expect(named).toMatchObject({
    'one-1': 'gitfs_password',
    'two-2': 'my_thing',
    'three-3': 'brine',
    'four-4': 'brine',
  });
});
