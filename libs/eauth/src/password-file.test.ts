import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import type { ModuleSettings } from './login-module.ts';
import { PasswordFile } from './password-file.ts';

let dir = '';
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'eauth-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

async function file(text: string, settings: ModuleSettings = {}) {
  const path = join(dir, `users-${Math.random()}`);
  await writeFile(path, text);
  const module = new PasswordFile({ '^filename': path, ...settings });
  return async (username: string, password: string): Promise<boolean> =>
    (await module.check({ username, password }))?.name === username;
}

test('a password that crypt(3) does not take fits no user, and is not hashed', async () => {
  const hashed = (password: string): string =>
    `{SHA}${createHash('sha1').update(password).digest('base64')}`;
  const [longest, longer, wide] = ['a'.repeat(511), 'a'.repeat(512), 'é'.repeat(256)] as const;
  const lines = [longest, longer, wide].map((password, at) => `u${at}:${hashed(password)}\n`);
  const users = await file(lines.join(''), { '^filetype': 'htpasswd' });
  expect(await users('u0', longest)).toBe(true);
  expect(await users('u1', longer)).toBe(false);
  expect(await users('u2', wide)).toBe(false);
});

describe('a text file of users', () => {
  it('lets in by the password in clear, and by its digests', async () => {
    const clear = await file('anne:secret\nbob:a b \n');
    expect(await clear('anne', 'secret')).toBe(true);
    expect(await clear('anne', 'Secret')).toBe(false);
    expect(await clear('bob', 'a b')).toBe(true);
    expect(await clear('carl', '')).toBe(false);
    const md5 = await file('46|anne|5ebe2294ecd0e0f08eab7690d2a6ee69\n', {
      '^hashtype': 'md5',
      '^username_field': 2,
      '^password_field': 3,
      '^field_separator': '|',
    });
    expect(await md5('anne', 'secret')).toBe(true);
    expect(await md5('46', 'anne')).toBe(false);
    const sha = '2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b';
    const sha256 = await file(`anne:${sha}`, { '^hashtype': 'sha256' });
    expect(await sha256('anne', 'secret')).toBe(true);
    expect(await sha256('anne', sha)).toBe(false);
  });

  it('the first line of a user decides', async () => {
    const users = await file('anne:one\nanne:two\n');
    expect(await users('anne', 'two')).toBe(false);
    expect(await users('anne', 'one')).toBe(true);
  });

  it('a line without the fields lets in no user behind it, and the error names it', async () => {
    const users = await file('bob:x\n\nanne:secret\n');
    expect(await users('bob', 'x')).toBe(true);
    await expect(users('anne', 'secret')).rejects.toThrow('line 2 of the file has no such field');
    await expect((await file('a:b', { '^hashtype': 'crc32' }))('a', 'b')).rejects.toThrow(
      "Hash func 'crc32' is not supported.",
    );
    const gone = new PasswordFile({ '^filename': join(dir, 'gone') });
    await expect(gone.check({ username: 'a', password: 'b' })).rejects.toThrow('cannot be read');
    const none = new PasswordFile({});
    await expect(none.check({ username: 'a', password: 'b' })).rejects.toThrow('no ^filename');
  });
});

// Made with openssl passwd, crypt(3) and openssl dgst.
const HASHES = [
  ['apr1', 'secret 1', '$apr1$saltsalt$4HCmE/xpbyinRZFxMC6at1'],
  ['SHA-256', 'Straße 1', '$5$saltsalt$k7TT85NRQs/00162XKosEvkr6h1oG9zSExVtrwCO.mB'],
  [
    'SHA-512',
    'Straße 1',
    '$6$saltsalt$KT9YF1yQFePJkXtW2AATRRnZB0bZg31xlMKhBz7yXQFb0Fwzw0/U5SJJzcRBjc.dKwO82DR8mrxiB9Qb3zhCY1',
  ],
  ['rounds', 'x', '$5$rounds=1000$abc$UxKib5kobt2BZp/yfOEWbjik.BPMiS9MzbXyO6zXMC0'],
  ['DES', 'Stra', 'abNdJnC.9U4WU'],
  ['bcrypt', 'secret', '$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a'],
  ['SHA-1', 'secret', '{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ='],
  ['no hash', 'secret', 'secret'],
] as const;

describe('htpasswd and htdigest', () => {
  it.each(HASHES)('%s', async (_name, password, hash) => {
    const users = await file(`# users\nbob:x\nanne:${hash}\n`, { '^filetype': 'htpasswd' });
    expect(await users('anne', password)).toBe(true);
    expect(await users('anne', `${password}.`.replace(/^Stra\.$/, 'Strb'))).toBe(false);
    expect(await users('anne', hash)).toBe(password === hash);
    expect(await users('ann', password)).toBe(false);
  });

  it('htdigest counts within its realm only', async () => {
    const text = 'anne:realm:7c20b54b0f6a50d75fa999094f16b2fc\n';
    const settings = { '^filetype': 'htdigest', '^realm': 'realm' };
    expect(await (await file(text, settings))('anne', 'secret')).toBe(true);
    expect(await (await file(text, settings))('anne', 'other')).toBe(false);
    const other = await file(text, { ...settings, '^realm': 'elsewhere' });
    expect(await other('anne', 'secret')).toBe(false);
  });
});
