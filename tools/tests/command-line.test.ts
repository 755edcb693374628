import { expect, test } from 'vitest';
import { readAsked } from './command-line.ts';

test.each([
  [['--keep'], '--keep wants --only NAME'],
  [['--keep', 'masters'], '--keep wants --only NAME'],
  [['--keep=yes', '--only', 'why'], "Option '--keep' does not take an argument"],
  [['--only', '--keep'], "Option '--only' argument is ambiguous"],
  [['pure', 'mastres', '--only', 'why', '--keep'], 'no such layer or circle: mastres'],
  [['change', 'release'], 'one circle at a time'],
  [['change', 'pure'], 'change names its layers itself'],
  [['release', '--base', 'main'], '--base wants --reached, or the circle change'],
])('npm test -- %j is refused: %s', (args, message) => {
  expect(() => readAsked(args)).toThrow(message);
});

test.each([
  [[], ['pure', 'served', 'masters']],
  [['deep'], ['deep']],
  [
    ['--only', 'why'],
    ['pure', 'served', 'masters', 'deep', 'hosts'],
  ],
  [['change'], ['pure', 'served', 'masters', 'deep']],
  [['release'], ['pure', 'served', 'masters', 'deep']],
  [['nightly'], ['pure', 'served', 'masters', 'deep', 'hosts']],
  [['--reached'], ['pure', 'served', 'masters']],
])('npm test -- %j runs %j', (args, layers) => {
  expect(readAsked(args)).toMatchObject({ layers });
});
