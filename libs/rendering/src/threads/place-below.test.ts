import { expect, test } from 'vitest';
import { placeBelow } from './place-below.ts';

const ROOTS = { base: ['/srv/salt', '/srv/more/'], dev: ['/srv/dev'], all: ['/'], none: [''] };

test.each([
  ['/srv/salt/a/b.yaml', 'base', 'a/b.yaml'],
  ['/srv/more/b', 'base', 'b'],
  ['//srv//dev/./b', 'dev', 'b'],
  ['/srv/salt/../dev/b', 'dev', 'b'],
])('the file %s is one of an environment', (file, saltenv, path) =>
  expect(placeBelow(ROOTS, file)).toEqual({ saltenv, path }),
);

test.each([
  '/etc/passwd',
  '/srv/salt/../../etc/passwd',
  '/srv/saltier/b',
  '/srv',
  'a/b',
  '',
  '../a',
])('the file %j is none', (file) => expect(placeBelow(ROOTS, file)).toBeUndefined());
