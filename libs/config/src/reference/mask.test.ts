import { expect, test } from 'vitest';
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
