import { UsageError } from '@brine/swarm/options';
import { describe, expect, it } from 'vitest';
import { readArguments } from './arguments.ts';

const ROWS = ['returns', 'start', 'herd'];

describe('readArguments', () => {
  it('without arguments asks for the whole table, ten pairs, 45 minutes', () => {
    expect(readArguments([], ROWS)).toMatchObject({
      mode: 'full',
      only: [],
      pairs: 10,
      minutes: 45,
      brineOnly: false,
    });
  });

  it('reads rows and numbers', () => {
    const args = ['--only', 'start,returns', '--pairs', '3', '--json', 'a.json', '--slice=0.5'];
    expect(readArguments(args, ROWS)).toMatchObject({
      only: ['start', 'returns'],
      pairs: 3,
      json: 'a.json',
      slice: 0.5,
    });
  });

  it.each([
    [['--quick', '--plant', '15'], 'quick'],
    [['--micro'], 'micro'],
    [['--document', '--json', 'a.json'], 'document'],
  ])('%j is mode %s', (args, mode) => {
    expect(readArguments(args, ROWS).mode).toBe(mode);
  });

  it.each([
    [['--only', 'speed'], /--only has no speed \(there are returns, start, herd\)/],
    [['--pairs', 'many'], /--pairs is a whole number from 1 to 100/],
    [['--pairs', '0'], /--pairs is a whole number/],
    [['--minutes', ''], /--minutes is a number/],
    [['--fast'], /--fast/],
    [['--quick', '--micro'], /choose one of --micro, --quick/],
    [['--document'], /--document needs --json/],
  ])('%j is refused with what would fit', (args, message) => {
    expect(() => readArguments(args, ROWS)).toThrow(UsageError);
    expect(() => readArguments(args, ROWS)).toThrow(message);
  });
});
