import { describe, expect, test } from 'vitest';
import { decimal, flag, MAX_SEED, names, oneOf, seed, short, text } from './option.ts';
import { texts, UsageError, whole } from './option.ts';
import { drawOptions, readArguments, readOptions } from './read.ts';

const OPTIONS = {
  faults: short('f', whole('<n>', 'in all', [1, 100, 20])),
  retPort: whole('<n>', 'request port (ret_port)', [1, 65_535]),
  pause: decimal('<s>', 'between two', [0.2, 60, 2]),
  seed: seed('of the plan'),
  only: names('<kind,…>', 'of', ['kill', 'stop']),
  version: oneOf('of requests', [3, 2]),
  prefix: text('<text>', 'of ids', 'chaos-'),
  log: text('<file>', 'of all'),
  again: texts('<id>', 'several times'),
  allEvery: flag('each time'),
};

describe('readOptions', () => {
  test('an option that is not given has its default, and a seed is drawn', () => {
    const asked = readOptions([], OPTIONS);
    expect(asked).toEqual({
      faults: 20,
      retPort: undefined,
      pause: 2,
      seed: asked.seed,
      only: ['kill', 'stop'],
      version: 3,
      prefix: 'chaos-',
      log: undefined,
      again: [],
      allEvery: false,
    });
    expect(asked.seed).toBeGreaterThanOrEqual(0);
    expect(Number.isInteger(asked.seed)).toBe(true);
  });

  test('a given option counts, the last one where one value is taken', () => {
    const numbers = ['-f', '5', '--faults=6', '--ret-port', '1', '--pause', '0.5', '--seed', '9'];
    const others = ['--only', 'stop', '--version', '2', '--again', 'a', '--again', 'b'];
    expect(readOptions([...numbers, ...others, '--all-every'], OPTIONS)).toMatchObject({
      faults: 6,
      retPort: 1,
      pause: 0.5,
      seed: 9,
      only: ['stop'],
      version: 2,
      again: ['a', 'b'],
      allEvery: true,
    });
  });

  test.each([
    [['--faults', '0'], '--faults is a whole number from 1 to 100, not 0'],
    [['--faults', '1.5'], '--faults is a whole number from 1 to 100, not 1.5'],
    [['--ret-port', 'many'], '--ret-port is a whole number'],
    [['--pause', ''], '--pause is a number from 0.2 to 60'],
    [['--seed', `${MAX_SEED + 1}`], '--seed is a whole number'],
    [['--only', 'kill,flood'], '--only has no flood (there are kill, stop)'],
    [['--version', '4'], '--version has no 4 (there are 3, 2)'],
    [['--fautls', '3'], "Unknown option '--fautls'"],
    [['--all-every=yes'], 'does not take an argument'],
    [['more'], 'unknown argument: more'],
  ])('%j is refused', (args, message) => {
    expect(() => readOptions(args, OPTIONS)).toThrow(UsageError);
    expect(() => readOptions(args, OPTIONS)).toThrow(message);
  });
});

test('words beside the options are given in their order', () => {
  const { asked, words } = readArguments(['connect', '--faults', '3', 'publish'], OPTIONS);
  expect(asked.faults).toBe(3);
  expect(words).toEqual(['connect', 'publish']);
});

test('the usage has a line for each option, with its default', () => {
  const lines = drawOptions(OPTIONS).split('\n');
  expect(lines[0]).toBe('  -f, --faults <n>  in all (20)');
  expect(lines).toContain('  --only <kind,…>   of kill, stop');
  expect(lines).toContain('  --version <3|2>   of requests (3)');
  expect(lines).toContain('  --all-every       each time');
});
