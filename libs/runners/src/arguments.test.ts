import { mapOf } from '@brine/wire';
import { expect, test } from 'vitest';
import { bindArguments, UnknownKeywordError } from './arguments.ts';

const lookup = { name: 'jobs.lookup', parameters: [['jid'], ['full', false]] } as const;

test('a map among the arguments is an argument, whatever it says of itself', () => {
  const sly = mapOf({ __kwarg__: true, jid: 'other', full: true });
  const { named } = bindArguments(lookup, { args: [sly], kwargs: mapOf({}) });
  expect([...named]).toEqual([
    ['jid', sly],
    ['full', false],
  ]);
});

test('None is a value: it does not fall back to the default', () => {
  const { named } = bindArguments(lookup, { args: ['1', null], kwargs: mapOf({}) });
  expect(named.get('full')).toBeNull();
});

test('a function that is open takes what fits no parameter', () => {
  const open = { ...lookup, open: 'any' } as const;
  const given = { args: ['1', true, 'more'], kwargs: mapOf({ other: 2 }) };
  expect(bindArguments(open, given)).toMatchObject({ args: ['more'], kwargs: mapOf({ other: 2 }) });
  expect(() => bindArguments(lookup, { args: ['1'], kwargs: mapOf({ other: 2 }) })).toThrow(
    UnknownKeywordError,
  );
});
