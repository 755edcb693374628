import { mapOf, type SaltValue } from '@brine/wire';
import { expect, test } from 'vitest';
import { readTemplates } from './read-templates.ts';

const one = (entry: SaltValue) => readTemplates(mapOf({ a: entry }));

test.each([
  ['no map', 'test.ping'],
  ['no command', mapOf({ target: '*' })],
  ['a command without a function', mapOf({ command: '*.*' })],
  ['a list as its command', mapOf({ command: ['test.ping'] })],
  ['a control character', mapOf({ command: 'test.ping', description: 'a\u001b[2J' })],
  ['a target of any length', mapOf({ command: 'test.ping', target: 'x'.repeat(5_000) })],
])('an entry with %s is none', (_, entry) => {
  expect(one(entry)).toEqual({ templates: [], dropped: ['a'] });
});

test.each([
  ['test.fib num=10', 'module', ['test.fib']],
  ['test.ping,cmd.run a', 'module', ['test.ping', 'cmd.run']],
  ['runners.jobs.active', 'runner', ['jobs.active']],
  ['wheel.key.list_all', 'wheel', ['key.list_all']],
])('the command %s calls what it names', (command, of, functions) => {
  const { templates } = one(mapOf({ command }));
  expect(templates[0]?.calls).toEqual({ of, functions });
});

test('without the option there are none, and one that is no map is dropped whole', () => {
  expect(readTemplates(undefined)).toEqual({ templates: [], dropped: [] });
  expect(readTemplates(['a']).dropped).toHaveLength(1);
});

test('more than a page draws are dropped', () => {
  const entries = Array.from({ length: 501 }, (_, at) => [`t${at}`, mapOf({ command: 'a.b' })]);
  const { templates, dropped } = readTemplates(new Map(entries as [string, SaltValue][]));
  expect([templates.length, dropped.length]).toEqual([500, 1]);
});
