import { mapOf } from '@brine/wire';
import { expect, test } from 'vitest';
import { peerArguments } from './peer-arguments.ts';

test('texts are read as on a command line, keywords come last', () => {
  const given = [
    'a',
    '1',
    'x=[1, 2]',
    mapOf({ __kwarg__: true, y: 'z' }),
    7,
    'q=5',
    mapOf({ k: 1 }),
  ];
  expect(peerArguments(given, ['q'])).toEqual([
    'a',
    1,
    7,
    mapOf({ k: 1 }),
    mapOf({ __kwarg__: true, x: [1, 2], y: 'z', q: '5' }),
  ]);
  expect(peerArguments([], [])).toEqual([]);
});
