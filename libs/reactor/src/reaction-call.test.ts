import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { describe, expect, test } from 'vitest';
import { callOf, type Signature, type SignatureOf } from './reaction-call.ts';

const SIGNATURES: Readonly<Record<string, Signature>> = {
  'state.orchestrate': {
    parameters: [['mods'], ['saltenv', 'base'], ['test', null], ['pillar', null]],
  },
  'error.error': {
    parameters: [
      ['name', null],
      ['message', ''],
    ],
  },
  'key.delete': { parameters: [['match']] },
  'salt.cmd': { parameters: [['fun']], open: 'any' },
};

const signatureOf: SignatureOf = async (_kind, fun) =>
  fun === 'site.mine' ? 'unknown to Brine' : SIGNATURES[fun];

/** A compiled reaction, with the fields that the compiler adds. */
function chunkOf(state: string, fun: string, more: Readonly<Record<string, SaltValue>>): SaltMap {
  const own = { state, name: 'x', __sls__: '/srv/r.sls', __id__: 'x', fun, order: 1 };
  return mapOf({ ...own, ...more });
}

async function read(state: string, fun: string, more: Readonly<Record<string, SaltValue>> = {}) {
  return callOf(chunkOf(state, fun, more), signatureOf);
}

async function call(...given: Parameters<typeof read>) {
  return (await read(...given)).call;
}

const list = (...pairs: readonly Readonly<Record<string, SaltValue>>[]): SaltValue =>
  pairs.map((pair) => mapOf(pair));

describe('a job for minions', () => {
  test('old and new form make the same arguments but for their places', async () => {
    const old = { tgt: 't', arg: ['pkg.installed', 'zsh'], kwarg: mapOf({ fromrepo: 'u' }) };
    expect(await call('local', 'state.single', old)).toMatchObject({
      kind: 'local',
      id: 'x',
      fun: 'state.single',
      tgt: 't',
      tgtType: 'glob',
      ret: '',
      arg: [
        'pkg.installed',
        'zsh',
        new Map<SaltValue, SaltValue>([
          ['__kwarg__', true],
          ['fromrepo', 'u'],
        ]),
      ],
    });
    const args = list({ fun: 'pkg.installed' }, { name: 'zsh' });
    expect(await call('local', 'state.single', { tgt: 't', args })).toMatchObject({
      arg: [
        new Map<SaltValue, SaltValue>([
          ['__kwarg__', true],
          ['fun', 'pkg.installed'],
          ['name', 'zsh'],
        ]),
      ],
    });
  });

  test('what stands beside tgt goes with the publish', async () => {
    const more = { tgt: ['a', 'b'], tgt_type: 'list', ret: 'smtp', jid: '20261126120000123456' };
    const found = await call('local', 'test.ping', { ...more, metadata: mapOf({ a: 1 }) });
    expect(found).toMatchObject({
      tgt: ['a', 'b'],
      tgtType: 'list',
      ret: 'smtp',
      jid: '20261126120000123456',
      arg: [],
      kwargs: mapOf({
        state: 'local',
        name: 'x',
        __sls__: '/srv/r.sls',
        __id__: 'x',
        order: 1,
        metadata: mapOf({ a: 1 }),
      }),
    });
  });

  test('without a target there is none', async () => {
    expect(await call('local', 'test.ping')).toEqual({
      refused: 'local takes at least 2 arguments (1 given)',
    });
  });

  test('a number that is a job id becomes a text, and a text its characters', async () => {
    const arg = [20261126120000123456n, 7];
    expect(await call('local', 'saltutil.find_job', { tgt: '*', arg })).toMatchObject({
      arg: ['20261126120000123456', 7],
    });
    expect(await call('local', 'test.arg', { tgt: '*', arg: 'ab' })).toMatchObject({
      arg: ['a', 'b'],
    });
  });

  test('what is not in force is told', async () => {
    const { notes } = await read('local', 'test.arg', {
      tgt: '*',
      expr_form: 'grain',
      args: mapOf({ a: 1 }),
      arg: [1],
      kwarg: mapOf({}),
    });
    expect(notes).toEqual([
      "'arg' is ignored beside 'args'",
      "'kwarg' is ignored beside 'args'",
      "'expr_form' is not in force: its name is 'tgt_type'",
    ]);
    const old = await read('local', 'test.arg', { tgt: '*', kwarg: list({ a: 1 }) });
    expect(old.notes).toEqual(["'kwarg' is no dictionary, so it is ignored"]);
    expect(old.call).toMatchObject({ arg: [] });
  });
});

describe('a runner or a wheel', () => {
  test('in the new form has keywords alone', async () => {
    const args = list({ mods: 'orch.a' }, { pillar: mapOf({ tag: 't' }) });
    expect(await call('runner', 'state.orchestrate', { args })).toEqual({
      kind: 'runner',
      id: 'x',
      fun: 'state.orchestrate',
      args: [],
      kwargs: mapOf({ mods: 'orch.a', pillar: mapOf({ tag: 't' }) }),
    });
    const map = mapOf({ match: 'a' });
    expect(await call('wheel', 'key.delete', { args: map })).toMatchObject({ kwargs: map });
  });

  test('in the old form has its parameters beside it, the defaults too', async () => {
    expect(await call('wheel', 'key.delete', { match: 'a' })).toEqual({
      kind: 'wheel',
      id: 'x',
      fun: 'key.delete',
      args: ['a'],
      kwargs: mapOf({}),
    });
    expect(await call('runner', 'state.orchestrate', { mods: 'orch.a' })).toMatchObject({
      args: ['orch.a'],
      kwargs: mapOf({ saltenv: 'base', test: null, pillar: null }),
    });
    // The name of the reaction is that of its id, where the function has such a parameter.
    expect(await call('runner', 'error.error', { message: 'm' })).toMatchObject({
      kwargs: mapOf({ name: 'x', message: 'm' }),
    });
  });

  test('in the old form takes arg and kwarg where both are given', async () => {
    const more = { arg: ['a'], kwarg: mapOf({ b: 1 }) };
    expect(await call('runner', 'no.such', more)).toMatchObject({
      args: ['a'],
      kwargs: mapOf({ b: 1 }),
    });
  });

  test('of the site has what is no field of the reactor as keywords', async () => {
    expect(await call('runner', 'site.mine', { foo: 1 })).toMatchObject({
      args: [],
      kwargs: mapOf({ foo: 1 }),
    });
    expect(await call('runner', 'site.mine', { foo: 1, name: 'other' })).toMatchObject({
      kwargs: mapOf({ foo: 1, name: 'other' }),
    });
  });

  test.each([
    ['state.orchestrate', {}, 'orchestrate takes at least 1 argument (0 given)'],
    ['key.delete', { match: 'a', foo: 1 }, "'foo' is an invalid keyword argument for 'key.delete'"],
    // As in Salt, though its documentation shows it.
    [
      'state.orchestrate',
      { mods: 'a', kwarg: mapOf({}) },
      "'kwarg' is an invalid keyword argument for 'state.orchestrate'",
    ],
    ['no.such', {}, 'function not available'],
    ['key.delete', { args: [] }, 'Incorrect argument format'],
    ['key.delete', { args: list({ a: 1, b: 2 }) }, 'Incorrect argument format'],
    ['key.delete', { args: null }, 'Incorrect argument format'],
    ['no.such', { arg: 5, kwarg: mapOf({}) }, 'arg is no list: 5'],
  ])('%s with %j is refused', async (fun, more, text) => {
    const found = await call('runner', fun, more);
    expect(found).toEqual({ refused: expect.stringContaining(text) });
  });
});

describe('caller, on a master', () => {
  test.each([
    [{ args: ['a', 1] }, ['test.arg', 'a', 1], {}],
    [{ args: list({ name: 'a' }) }, ['test.arg'], { name: 'a' }],
    [{}, ['test.arg'], {}],
    [{ arg: ['a'], kwarg: mapOf({ b: 1 }) }, ['test.arg', 'a'], { b: 1 }],
  ])('%j runs salt.cmd', async (more, args, kwargs) => {
    const found = await call('caller', 'test.arg', more);
    expect(found).toEqual({
      kind: 'runner',
      id: 'x',
      fun: 'salt.cmd',
      args,
      kwargs: mapOf(kwargs),
    });
  });
});

test('another kind ends its own reaction only', async () => {
  expect(await call('lokal', 'test.ping', { tgt: '*' })).toEqual({
    refused: "'lokal' is no kind of reaction: local, runner, wheel or caller",
  });
});
