import { expect, test } from 'vitest';
import { shellLine, shellWord } from './shell-word.ts';

test.each([
  ['web1.eu', 'web1.eu'],
  ['*', `'*'`],
  ['', `''`],
  ["a'; rm -rf /; '", `'a'\\''; rm -rf /; '\\'''`],
  ['$(id)', `'$(id)'`],
  ['a\nb', `'a\nb'`],
  ['-x', '-x'],
])('%j is written as %s', (text, word) => {
  expect(shellWord(text)).toBe(word);
});

test('the words of a line stay words, whatever an address has', () => {
  expect(shellLine('salt-run', 'jobs.list_job', '1; reboot')).toBe(
    `salt-run jobs.list_job '1; reboot'`,
  );
});
