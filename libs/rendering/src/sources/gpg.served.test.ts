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
let keytab = '';
const KEYTAB = Buffer.from('0502ff00fe80c3280a', 'hex');

beforeAll(() => {
  keyDir = mkdtempSync(join(tmpdir(), 'bg-'));
  const gpgOf =
    (input: string | Buffer) =>
    (...args: string[]): string =>
      execFileSync('gpg', ['--homedir', keyDir, '--batch', ...args], {
        input,
        stdio: ['pipe', 'pipe', 'ignore'],
      }).toString();
  const gpg = gpgOf('secret\n');
  gpg(
    '--passphrase',
    '',
    '--quick-gen-key',
    'pillar@example.com',
    'future-default',
    'default',
    'never',
  );
  const encrypt = ['--armor', '--trust-model', 'always', '-r', 'pillar@example.com', '--encrypt'];
  message = gpg(...encrypt);
  keytab = gpgOf(KEYTAB)(...encrypt);
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

test('with gpg_decrypt_must_succeed a message that cannot be opened is an error', () => {
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

test('a message without text gives bytes, also beside text', () => {
  const settings = { keyDir, mustSucceed: true };
  const cut = KEYTAB.subarray(0, -1);
  const beside = new Uint8Array(Buffer.concat([Buffer.from('ü '), cut]));
  expect(decryptAll(mapOf({ a: keytab, b: [`ü ${keytab.trim()}`] }), settings, always)).toEqual(
    mapOf({ a: new Uint8Array(cut), b: [beside] }),
  );
});

test('messages in bytes are opened; bytes that are UTF-8 become a text, others stay', () => {
  const settings = { keyDir, mustSucceed: true };
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
  const other = new Uint8Array([0xff, 0x0a]);
  expect(decryptAll([bytes(message), bytes('ü\n'), other], settings, always)).toEqual([
    'secret',
    'ü\n',
    other,
  ]);
});

test('a message in one line that cannot be opened gets real line ends', () => {
  const broken = '-----BEGIN PGP MESSAGE-----\\n\\nnothing\\n-----END PGP MESSAGE-----';
  expect(decryptAll(broken, { keyDir, mustSucceed: false }, always)).toBe(
    broken.replaceAll('\\n', '\n'),
  );
});
