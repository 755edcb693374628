import { describe, expect, it } from 'vitest';
import { readArguments, UsageError } from './arguments.ts';

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
      sliceSeconds: 0.5,
    });
  });

  it.each([
    [['--quick', '--plant', '15'], 'quick'],
    [['--micro'], 'micro'],
    [['--help', '--quick'], 'help'],
    [['--document', '--json', 'a.json'], 'document'],
  ])('%j is mode %s', (args, mode) => {
    expect(readArguments(args, ROWS).mode).toBe(mode);
  });

  it.each([
    [['--only', 'speed'], /no row speed; there are returns, start, herd/],
    [['--pairs', 'many'], /--pairs is a number from 1 to 100/],
    [['--pairs', '0'], /--pairs is a number/],
    [['--minutes', ''], /--minutes is a number/],
    [['--fast'], /--fast/],
    [['--quick', '--micro'], /choose one of --micro, --quick/],
    [['--document'], /--document needs --json/],
  ])('%j is refused with what would fit', (args, message) => {
    expect(() => readArguments(args, ROWS)).toThrow(UsageError);
    expect(() => readArguments(args, ROWS)).toThrow(message);
  });
});
