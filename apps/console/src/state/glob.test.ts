import { matchGlob } from '@brine/target';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { globTest } from './glob.ts';

test.each([
  ['salt/job/*/ret/*', 'salt/job/1/ret/web', true],
  ['salt/job/*/ret/*', 'salt/job/1/new', false],
  ['*', '', true],
  ['', '', true],
  ['', 'a', false],
  ['web?', 'web1', true],
  ['web?', 'web', false],
  ['web[0-3]', 'web2', true],
  ['web[!0-3]', 'web2', false],
  ['web[]]', 'web]', true],
  ['web[', 'web[', true],
  ['a**b', 'a-b', true],
  ['WEB', 'web', false],
  ['?', '😀', true],
  ['*\n*', 'a\nb', true],
])('%j takes %j: %s', (glob, text, expected) => {
  expect(globTest(glob)(text)).toBe(expected);
});

test('a glob takes what the master takes by it', () => {
  const letters = fc.constantFrom('a', 'b', 'z', '*', '?', '[', ']', '!', '-', '/', '\n', '😀');
  const globs = fc.string({ unit: letters, maxLength: 12 });
  const texts = fc.string({ unit: letters, maxLength: 12 });
  fc.assert(
    fc.property(globs, texts, (glob, text) => {
      expect(globTest(glob)(text)).toBe(matchGlob(glob, text));
    }),
    { numRuns: 5_000 },
  );
});

test('many stars do not make it slow', () => {
  expect(globTest('*a'.repeat(100))(`${'a'.repeat(5_000)}b`)).toBe(false);
});
