import { describe, expect, test } from 'vitest';
import { OptionError, Options } from './options.ts';

const given = new Options({
  text: 'x',
  number: '5',
  port: 8000,
  flag: true,
  list: ['a', 'b'],
  one: 'a',
  none: null,
  map: { a: 1, b: 'c' },
});

describe('options are read by their type', () => {
  test('where they are there, and with presets where not', () => {
    expect(given.text('text')).toBe('x');
    expect(given.text('absent', 'preset')).toBe('preset');
    expect(given.maybeText('none')).toBeUndefined();
    expect(given.number('number', 1, { min: 0, max: 9 })).toBe(5);
    expect(given.port('port', 1)).toBe(8000);
    expect(given.flag('flag', false)).toBe(true);
    expect(given.texts('list')).toEqual(['a', 'b']);
    expect(given.texts('one')).toEqual(['a']);
    expect(given.texts('none')).toBeUndefined();
    expect(given.textMap('map')).toEqual(
      new Map([
        ['a', '1'],
        ['b', 'c'],
      ]),
    );
    expect(given.oneOf('one', ['A', 'B'], 'B')).toBe('A');
    expect(given.map('map')?.text('b')).toBe('c');
  });

  test.each<[string, () => unknown]>([
    ['text', () => given.text('absent')],
    ['map', () => given.text('map')],
    ['number', () => given.number('number', 1, { min: 6, max: 9 })],
    ['text', () => given.flag('text', true)],
    ['map', () => given.texts('map')],
    ['list', () => given.textMap('list')],
    ['one', () => given.oneOf('one', ['b'], 'b')],
    ['text', () => given.map('text')],
  ])('and a wrong one is refused (%#)', (_name, read) => {
    expect(read).toThrow(OptionError);
  });

  test('a file that is not there is told', async () => {
    const options = new Options({ cert: '/nowhere/at/all' });
    await expect(options.file('cert')).rejects.toThrow('cert can not be read');
    expect(await options.file('none')).toBeUndefined();
  });
});
