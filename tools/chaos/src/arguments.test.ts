import { UsageError } from '@brine/swarm';
import { expect, test } from 'vitest';
import { readArguments } from './arguments.ts';
import { FAULT_KINDS } from './plan.ts';

test('a missing argument has a default, and a seed is drawn', () => {
  const asked = readArguments([]);
  expect(asked).toMatchObject({ faults: 20, minions: 100, jobs: 3, kinds: FAULT_KINDS });
  expect(Number.isInteger(asked.seed)).toBe(true);
});

test('a given argument counts', () => {
  const args = ['--faults', '5', '--seed', '9', '--only', 'kill,cut', '--replay', 'plan.json'];
  expect(readArguments(args)).toMatchObject({
    faults: 5,
    seed: 9,
    kinds: ['kill', 'cut'],
    replay: 'plan.json',
  });
});

test.each([
  [['--faults', '0']],
  [['--faults', 'many']],
  [['--seed', '4294967296']],
  [['--only', 'flood']],
  [['--fautls', '3']],
])('%j is refused', (args) => {
  expect(() => readArguments(args)).toThrow(UsageError);
});
