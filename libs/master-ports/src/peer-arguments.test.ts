import { mapOf } from '@brine/wire';
import { YamlWorkError } from '@brine/yaml';
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

test('the work of reading arguments of a peer is bounded over the whole request', () => {
  const list = `[${'1,'.repeat(3_000)}]`;
  expect(peerArguments([list], [])).toHaveLength(1);
  expect(() => peerArguments([list, `x=${list}`], [])).toThrow(YamlWorkError);
  expect(() => peerArguments(new Array(20_000).fill('a'), [])).toThrow(YamlWorkError);
});
