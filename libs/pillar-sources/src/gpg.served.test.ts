import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mapOf } from '@brine/wire';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { decryptAll, GpgError } from './gpg.ts';

const always = (): boolean => true;

let keyDir = '';
let message = '';

beforeAll(() => {
  keyDir = mkdtempSync(join(tmpdir(), 'bg-'));
  const quiet = { input: 'secret\n', stdio: ['pipe', 'pipe', 'ignore'] as const };
  const gpg = (...args: string[]): string =>
    execFileSync('gpg', ['--homedir', keyDir, '--batch', ...args], {
      ...quiet,
      stdio: [...quiet.stdio],
    }).toString();
  gpg(
    '--passphrase',
    '',
    '--quick-gen-key',
    'pillar@example.com',
    'future-default',
    'default',
    'never',
  );
  message = gpg('--armor', '--trust-model', 'always', '-r', 'pillar@example.com', '--encrypt');
}, 120_000);

afterAll(() => {
  execFileSync('gpgconf', ['--homedir', keyDir, '--kill', 'all'], { stdio: 'ignore' });
  rmSync(keyDir, { recursive: true, force: true });
});

test('messages are opened wherever they stand, the line end goes', () => {
  const settings = { keyDir, mustSucceed: true };
  const value = mapOf({ a: [`before ${message}`, 1], b: mapOf({ c: message }), d: 'plain\n' });
  expect(decryptAll(value, settings, always)).toEqual(
    mapOf({ a: ['before secret', 1], b: mapOf({ c: 'secret' }), d: 'plain\n' }),
  );
});

test('a message in one line of YAML is opened', () => {
  const oneLine = message.trim().replaceAll('\n', '\\n');
  expect(decryptAll(oneLine, { keyDir, mustSucceed: true }, always)).toBe('secret');
});

test('gpg_decrypt_must_succeed says whether a message that cannot be opened is an error', () => {
  const broken = '-----BEGIN PGP MESSAGE-----\n\nnothing\n-----END PGP MESSAGE-----';
  expect(() => decryptAll(broken, { keyDir, mustSucceed: true }, always)).toThrow(GpgError);
  expect(decryptAll(broken, { keyDir, mustSucceed: false }, always)).toBe(broken);
});

test('a message that must not be opened stays, one beside it is opened', () => {
  const other = message.trim().replace('\n', '\n\n');
  const value = mapOf({ a: `${message}${other}` });
  const mayOpen = (one: string): boolean => one !== other;
  expect(decryptAll(value, { keyDir, mustSucceed: true }, mayOpen)).toEqual(
    mapOf({ a: `secret\n\n${other}` }),
  );
});
