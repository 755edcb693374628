import { mapOf, type SaltValue } from '@brine/wire';
import { describe, expect, test } from 'vitest';
import { callArguments } from './call-arguments.ts';

describe('an entry of ext_pillar gives arguments as Salt takes them', () => {
  test.each<[string, SaltValue, SaltValue]>([
    ['a value alone', 'x', mapOf({ command: 'x' })],
    ['no value', null, mapOf({ command: null })],
    ['a list', ['x', 2], mapOf({ command: 'x', more: 2 })],
    ['a map', mapOf({ more: 2, command: 'x' }), mapOf({ more: 2, command: 'x' })],
  ])('%s', (_form, args, found) =>
    expect(callArguments(args, ['command'], ['more'])).toEqual(found),
  );
});

describe('an invalid call is an error with the text of Python', () => {
  test.each<[string, SaltValue]>([
    ["ext_pillar() missing 1 required positional argument: 'command'", []],
    ["ext_pillar() missing 1 required positional argument: 'command'", mapOf({ more: 1 })],
    ['ext_pillar() takes from 3 to 4 positional arguments but 5 were given', ['a', 'b', 'c']],
    ["ext_pillar() got an unexpected keyword argument 'x'", mapOf({ command: 'a', x: 1 })],
    ["ext_pillar() got multiple values for argument 'minion_id'", mapOf({ minion_id: 'a' })],
    ["ext_pillar() got multiple values for argument 'pillar'", mapOf({ pillar: 'a' })],
    ['keywords must be strings', new Map([[5, 1]])],
  ])('%s', (text, args) =>
    expect(() => callArguments(args, ['command'], ['more'])).toThrow(new TypeError(text)),
  );

  test('where nothing may be left out', () =>
    expect(() => callArguments(['a', 'b'], ['command'])).toThrow(
      new TypeError('ext_pillar() takes 3 positional arguments but 4 were given'),
    ));
});
