import { expect, test } from 'vitest';
import { argumentTexts } from './arguments.ts';

test('arguments are written as one types them', () => {
  const arg = ['nginx', 3, null, ['a'], { __kwarg__: true, test: true, saltenv: 'base' }];
  expect(argumentTexts(arg)).toEqual(['nginx', '3', 'null', '["a"]', 'test=True', 'saltenv=base']);
});

test('a mapping that is no list of keywords is a value', () => {
  expect(argumentTexts([{ __kwarg__: 'true' }, false])).toEqual(['{"__kwarg__":"true"}', 'False']);
});
