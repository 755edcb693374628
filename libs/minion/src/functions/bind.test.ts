import type { SaltMap, SaltValue } from '@brine/wire';
import { describe, expect, test } from 'vitest';
import { bindArguments, splitArguments } from './bind.ts';
import {
  ArgumentError,
  ExecutionError,
  InvocationError,
  type MinionFunction,
} from './minion-function.ts';
import { runFunction } from './run-function.ts';

const kwarg = (values: Record<string, SaltValue>): SaltMap =>
  new Map<SaltValue, SaltValue>([['__kwarg__', true], ...Object.entries(values)]);

const plain = (map: ReadonlyMap<SaltValue, SaltValue>): Record<string, SaltValue> =>
  Object.fromEntries(map) as Record<string, SaltValue>;

describe('arguments of a publication', () => {
  test('maps with __kwarg__ are named arguments, wherever they stand', () => {
    const { args, kwargs } = splitArguments(['a', kwarg({ x: 1 }), 'b', kwarg({ y: 2, x: 3 })]);
    expect(args).toEqual(['a', 'b']);
    expect(plain(kwargs)).toEqual({ x: 3, y: 2 });
  });

  test.each<[string, SaltValue]>([
    ['without __kwarg__', new Map([['x', 1]])],
    ['with a false one', new Map<SaltValue, SaltValue>([['__kwarg__', false]])],
    ['with the text of one', new Map<SaltValue, SaltValue>([['__kwarg__', 'true']])],
  ])('a map %s is a positional argument', (_rule, map) => {
    expect(splitArguments([map])).toEqual({ args: [map], kwargs: new Map() });
  });
});

const fun = (names: readonly string[], takes?: 'args' | 'kwargs' | 'both'): MinionFunction => ({
  doc: 'Its doc.',
  parameters: names.map((name) =>
    name.endsWith('?') ? { name: name.slice(0, -1), default: 'd' } : { name },
  ),
  ...(takes === undefined ? {} : { takes }),
  run: () => true,
});

const PUBLISHED: SaltMap = new Map([['jid', '1']]);

describe('a call', () => {
  test.each<[string, MinionFunction, SaltValue[], unknown, unknown, unknown]>([
    ['by position', fun(['a', 'b?']), [1], { a: 1, b: 'd' }, [], {}],
    ['by name', fun(['a', 'b?']), [kwarg({ b: 2, a: 1 })], { a: 1, b: 2 }, [], {}],
    ['null is given, and no default', fun(['a?']), [null], { a: null }, [], {}],
    ['the rest by position', fun(['a'], 'args'), [1, 2, 3], { a: 1 }, [2, 3], {}],
    [
      'the rest by name sees the publication',
      fun(['a'], 'kwargs'),
      [1, kwarg({ x: 2 })],
      { a: 1 },
      [],
      { x: 2, __pub_jid: '1' },
    ],
    [
      'both kinds of rest',
      fun([], 'both'),
      [1, kwarg({ x: 2 })],
      {},
      [1],
      { x: 2, __pub_jid: '1' },
    ],
  ])('binds %s', (_rule, called, given, named, args, kwargs) => {
    const bound = bindArguments('m.f', called, splitArguments(given), PUBLISHED);
    expect(Object.fromEntries(bound.named)).toEqual(named);
    expect(bound.args).toEqual(args);
    expect(plain(bound.kwargs)).toEqual(kwargs);
  });

  // The texts of CPython 3.11 and of salt/minion.py.
  test.each<[string, MinionFunction, SaltValue[], string]>([
    [
      'none of two',
      fun(['a', 'b']),
      [],
      "f() missing 2 required positional arguments: 'a' and 'b'",
    ],
    ['one of two', fun(['a', 'b']), [1], "f() missing 1 required positional argument: 'b'"],
    ['one too many', fun([]), [1], 'f() takes 0 positional arguments but 1 was given'],
    ['two for one', fun(['a']), [1, 2], 'f() takes 1 positional argument but 2 were given'],
    [
      'three for one or two',
      fun(['a', 'b?']),
      [1, 2, 3],
      'f() takes from 1 to 2 positional arguments but 3 were given',
    ],
    ['one twice', fun(['a']), [1, kwarg({ a: 2 })], "f() got multiple values for argument 'a'"],
  ])('with %s is refused as Python does', (_rule, called, given, text) => {
    const bind = (): unknown => bindArguments('m.f', called, splitArguments(given), PUBLISHED);
    expect(bind).toThrow(new ArgumentError(text));
  });

  test('with unknown names is refused as Salt does, values as Python shows them', () => {
    const given = splitArguments([kwarg({ x: [null, true], y: 'z' })]);
    expect(() => bindArguments('m.f', fun(['a']), given, PUBLISHED)).toThrow(
      new InvocationError('The following keyword arguments are not valid: x=[None, True], y=z'),
    );
  });
});

describe('an error of a function is returned with the text of Salt', () => {
  const raising = (error: Error): MinionFunction => ({
    doc: 'Its doc.',
    run: () => {
      throw error;
    },
  });

  test.each([
    [new InvocationError('no'), "ERROR executing 'm.f': no"],
    [new ExecutionError('no'), 'ERROR: no'],
    [new ArgumentError('no'), 'Passed invalid arguments to m.f: no\nIts doc.'],
  ])('%s', async (error, text) => {
    expect(await runFunction('m.f', raising(error), [], PUBLISHED)).toEqual({
      return: text,
      retcode: 1,
      success: false,
      out: 'nested',
    });
  });

  test('anything else with its stack', async () => {
    const { return: text } = await runFunction('m.f', raising(new Error('no')), [], PUBLISHED);
    expect(text).toMatch(/^The minion function caused an exception: Error: no\n +at /);
  });
});

describe('a return', () => {
  const giving = (value: SaltValue, code = 0): MinionFunction => ({
    doc: '',
    run: (call) => {
      if (code !== 0) call.setRetcode(code);
      return value;
    },
  });

  test.each<[string, SaltValue, number, number]>([
    ['a map whose result is false', new Map([['result', false]]), 0, 1],
    ['a map whose success is false', new Map([['success', false]]), 0, 1],
    ['a map whose result is empty', new Map<SaltValue, SaltValue>([['result', []]]), 0, 1],
    ['a map whose result is none', new Map<SaltValue, SaltValue>([['result', null]]), 0, 1],
    ['a map whose result is true', new Map([['result', true]]), 0, 0],
    ['a map of something else', new Map([['x', false]]), 0, 0],
    ['false', false, 0, 0],
    ['a code of its own', new Map([['result', false]]), 7, 7],
  ])('of %s has the right code', async (_rule, value, given, code) => {
    const outcome = await runFunction('m.f', giving(value, given), [], PUBLISHED);
    expect(outcome).toEqual({ return: value, retcode: code, success: code === 0 });
  });
});
