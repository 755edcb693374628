import type { Me, Right } from '@brine/api';
import { describe, expect, test } from 'vitest';
import { hasRight, hasWord, mayBegin, mayCall, mayRun, reaches } from './rights.ts';

const right = (on: string, ...funs: readonly string[]): Right => ({
  on,
  functions: funs.map((fun) => ({ fun })),
});

describe('functions of the master', () => {
  test.each<[string, Right, boolean]>([
    ['@runner gives each runner', right('@runner', '.*'), true],
    ['so does its plural', right('@runners', '.*'), true],
    ['@runner with functions gives these', right('@runner', 'reactor\\..*'), true],
    ['@runner with other functions does not', right('@runner', 'jobs\\..*'), false],
    ['a module gives its functions', right('@reactor', '.*'), true],
    ['a module with functions gives these', right('@reactor', 'add'), true],
    ['a module with other functions does not', right('@reactor', 'list'), false],
    ['@wheel gives no runner', right('@wheel', '.*'), false],
    ['a right on minions gives no runner', right('*', '.*'), false],
    ['an expression counts from the begin of a name', right('@runner', 'actor.add'), false],
    ['an expression that a browser has not is left to the master', right('@runner', '(?i)x'), true],
  ])('%s', (_claim, one, expected) => {
    expect(hasRight([one], 'runner', 'reactor.add')).toBe(expected);
  });

  test('a caller without rights has none', () => {
    expect(hasRight([], 'wheel', 'key.accept')).toBe(false);
  });
});

test('functions on minions come from rights on minions, not from words', () => {
  expect(reaches([right('web*', 'test\\.ping')], 'test.ping')).toBe(true);
  expect(reaches([right('web*', 'test\\.ping')], 'state.apply')).toBe(false);
  expect(reaches([right('@runner', '.*')], 'test.ping')).toBe(false);
});

const ME: Me = {
  principal: 'alice',
  eauth: 'file',
  groups: [],
  expires: '2026-11-30T09:15:00.250000Z',
  readsAll: false,
  clients: ['local', 'runner', 'wheel'],
  rights: [],
};

test('what the site has not enabled is not drawn, whatever the rights', () => {
  const rights = [right('*', '.*'), right('@runner', '.*'), right('@wheel', '.*')];
  const drawn = (...clients: string[]) => {
    const me = { ...ME, clients, rights };
    return {
      run: mayRun(me, 'test.ping'),
      calls: (['runner', 'wheel'] as const).filter((kind) => mayCall(me, kind, 'a.b')),
      begins: (['runner', 'wheel'] as const).filter((kind) => mayBegin(me, kind, 'a.b')),
    };
  };
  expect(drawn('local')).toEqual({ run: true, calls: [], begins: [] });
  expect(drawn('runner')).toEqual({ run: false, calls: ['runner'], begins: ['runner'] });
  expect(drawn('wheel_async')).toEqual({ run: false, calls: [], begins: ['wheel'] });
  expect(mayCall({ ...ME, clients: ['runner'] }, 'runner', 'a.b')).toBe(false);
});

test('a word is had by name, or by all rights', () => {
  const me: Me = { ...ME, rights: [right('@events', '.*')] };
  expect(hasWord(me, '@events')).toBe(true);
  expect(hasWord(me, '@jobs')).toBe(false);
  expect(hasWord({ ...me, readsAll: true, rights: [] }, '@jobs')).toBe(true);
});
