import { expect, test } from 'vitest';
import { saltOptions } from '../salt-names.ts';
import { maskSecrets } from './mask.ts';

test('secrets are masked by the name of the option or key, and within URLs', () => {
  expect(maskSecrets('sharedsecret', 'x')).toBe('********');
  expect(maskSecrets('key_pass', 'x')).toBe('********');
  expect(maskSecrets('a', { password: 'x', user: 'u', list: [{ token: 1 }] })).toEqual({
    password: '********',
    user: 'u',
    list: [{ token: '********' }],
  });
  expect(maskSecrets('a', 'postgres://u:p@h,i/db?sslmode=require&password=p')).toBe(
    'postgres://********@h,i/db?sslmode=require&password=********',
  );
});

test('headers that let a client in are masked', () => {
  const headers = { Authorization: 'Bearer x', 'X-API-Key': 'x', Accept: '*/*' };
  expect(maskSecrets('brine', { event_http: { headers } })).toEqual({
    event_http: { headers: { Authorization: '********', 'X-API-Key': '********', Accept: '*/*' } },
  });
});

test('keys of stores and services are masked', () => {
  const names = ['key', 'secret_id', 'secret_key', 'private_key', 'account_key', 'app_secret_key'];
  for (const name of [...names, 'aws_secret_access_key', 'access_key']) {
    const s3 = { keyid: 'AK', [name]: 'x' };
    expect(maskSecrets('ext_pillar', [{ s3 }])).toEqual([
      { s3: { keyid: 'AK', [name]: '********' } },
    ]);
  }
});

test('a password with an @ in a URL is masked as a whole', () => {
  expect(maskSecrets('a', 'https://u:hunt@22secret@git.example/a.git@v1')).toBe(
    'https://********@git.example/a.git@v1',
  );
  expect(maskSecrets('a', 'nats://u:p@q@n1:4222,nats://u:p@n2:4222')).toBe(
    'nats://********@n1:4222,nats://********@n2:4222',
  );
});

test('no option of Salt is taken for a secret by a key in its name', () => {
  const named = [...saltOptions()].filter((name) => /key/.test(name) && !/_pass/.test(name));
  expect(named).toContain('key_logfile');
  expect(named.filter((name) => maskSecrets(name, 'x') !== 'x')).toEqual([]);
});

test('the key of a map is masked where it is a URL', () => {
  expect(maskSecrets('gitfs_remotes', [{ 'https://u:p@git.example/a.git': [] }])).toEqual([
    { 'https://********@git.example/a.git': [] },
  ]);
});

test('an option that is no secret stays as it is', () => {
  for (const value of ['/etc/salt', 'a@b', 7, true, undefined, null, ['x'], { keysize: 1 }]) {
    expect(maskSecrets('pki_dir', value)).toEqual(value);
  }
  expect(maskSecrets('token_expire', 5)).toBe(5);
  expect(maskSecrets('pass_dir', '/x')).toBe('/x');
  expect(maskSecrets('sharedsecret', '')).toBe('');
});

test('a map of Salt is masked as an object is', () => {
  const value = new Map([['postgres', new Map([['url', 'postgres://u:p@h/db']])]]);
  expect(maskSecrets('brine', value)).toEqual(
    new Map([['postgres', new Map([['url', 'postgres://********@h/db']])]]),
  );
});
