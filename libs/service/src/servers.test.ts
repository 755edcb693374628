import type { MasterOptions } from '@brine/config';
import { expect, test } from 'vitest';
import { postgresUrlOf } from './servers.ts';

function urlOf(url: string | undefined, env: Record<string, string> = {}): string {
  return postgresUrlOf({ options: { brine: { postgres: { url } } } as MasterOptions, env });
}

test.each([
  ['postgres://brine@db/brine', 'postgres://brine@db/brine?password=a%26b'],
  ['postgres://db/brine?sslmode=require', 'postgres://db/brine?sslmode=require&password=a%26b'],
  ['postgres://store@a:5432,b:5432/x', 'postgres://store@a:5432,b:5432/x?password=a%26b'],
  ['postgres://brine:own@db/brine', 'postgres://brine:own@db/brine'],
  ['postgres://db/brine?password=own', 'postgres://db/brine?password=own'],
])('the URL %s gets a password of libpq where it has none', (url, wanted) => {
  expect(urlOf(url, { PGPASSWORD: 'a&b' })).toBe(wanted);
  expect(urlOf(url)).toBe(url);
});

test('without a server there is none', () => {
  expect(() => urlOf(undefined)).toThrow('no PostgreSQL is configured');
});
