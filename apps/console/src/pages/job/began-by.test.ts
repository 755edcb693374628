import { expect, test } from 'vitest';
import { beganBy } from './began-by.ts';

const job = (arg: readonly unknown[], more = {}) =>
  beganBy({ fun: ['state.apply'], tgt: ['web*'], tgtType: 'glob', arg: [...arg], ...more });

test.each([
  [[], `salt 'web*' state.apply`],
  [['nginx'], `salt 'web*' state.apply nginx`],
  [['nginx', { __kwarg__: true, test: true }], `salt 'web*' state.apply nginx test=True`],
  [[3, null, ['a']], `salt 'web*' state.apply 3 None '["a"]'`],
  // A text that looks like a number stays a text.
  [['3'], `salt 'web*' state.apply '"3"'`],
  [["it's"], `salt 'web*' state.apply 'it'\\''s'`],
])('arguments %j are words that mean the same', (arg, line) => {
  expect(job(arg)).toBe(line);
});

test('a target keeps its kind', () => {
  expect(job([], { tgt: ['a', 'b'], tgtType: 'list' })).toBe(`salt -L 'a,b' state.apply`);
});

test.each([
  ['several functions', { fun: ['test.ping', 'test.echo'] }],
  ['a kind of target that the command line does not have', { tgtType: 'external' }],
  ['no target', { tgt: undefined }],
])('%s have no command', (_what, more) => {
  expect(job([], more)).toBeUndefined();
});

test('a text that would become a keyword has no command, and one of several lines one line', () => {
  expect(job(['a=b'])).toBeUndefined();
  expect(job(['a\nb'])).toBe(`salt 'web*' state.apply '"a\\nb"'`);
});
