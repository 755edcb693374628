import { type FunctionCall } from '@brine/master';
import { PythonCallError, type PythonCalls } from '@brine/python-host';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { expect, test } from 'vitest';
import { SiteFunctions } from './site-functions.ts';

const CALL: FunctionCall = {
  kind: 'runner',
  fun: 'site.greet',
  jid: '20261126000000000000',
  user: 'root',
  principal: 'root',
  args: ['a'],
  kwargs: mapOf({ b: 1 }),
};

type Answer = (op: string, given: SaltMap) => SaltValue | Error;

function siteWith(answer: Answer) {
  const fired: [string, SaltMap][] = [];
  const troubles: string[] = [];
  const asked: string[] = [];
  const clock = { nowMs: 0 };
  const python: PythonCalls = {
    call: async (_use, op, given, onEvent) => {
      asked.push(op);
      onEvent?.('progress', mapOf({ step: 1 }));
      const found = answer(op, given);
      if (found instanceof Error) throw found;
      return found;
    },
  };
  const site = new SiteFunctions({
    python,
    fire: async (tag, data) => void fired.push([tag, data]),
    onTrouble: (text) => troubles.push(text),
    now: () => clock.nowMs,
  });
  return { site, fired, troubles, asked, clock };
}

const NAMES = mapOf({ runner: mapOf({ 'site.greet': 'Greets.' }), wheel: mapOf({}) });

test('a name that may be new is looked for again, but not all the time', async () => {
  let names = NAMES;
  const { site, asked, clock } = siteWith(() => names);
  expect(await site.knows('runner', 'site.greet')).toBe(true);
  expect(await site.knows('runner', 'site.late')).toBe(false);
  names = mapOf({ runner: mapOf({ 'site.late': '' }) });
  expect(await site.knows('runner', 'site.late')).toBe(false);
  expect(asked).toEqual(['functions']);
  clock.nowMs = 10_000;
  const both = [site.knows('runner', 'site.late'), site.knows('runner', 'site.late')];
  expect(await Promise.all(both)).toEqual([true, true]);
  expect(asked).toEqual(['functions', 'functions']);
  expect(await site.knows('wheel', 'site.late')).toBe(false);
});

test('a run has the call, fires its events, and gives value, success and exit code', async () => {
  const { site, fired } = siteWith((_op, given) => {
    expect(given).toEqual(
      mapOf({
        kind: 'runner',
        fun: 'site.greet',
        jid: CALL.jid,
        user: 'root',
        args: ['a'],
        kwargs: mapOf({ b: 1 }),
      }),
    );
    return mapOf({ value: 'x', success: false, retcode: 3 });
  });
  expect(await site.run(CALL)).toEqual({ value: 'x', success: false, retcode: 3 });
  expect(fired).toEqual([[`salt/run/${CALL.jid}/progress`, mapOf({ step: 1 })]]);
});

test('data that are no states are no success, and yet the exit code is 0, as in Salt', async () => {
  const value = mapOf({ data: mapOf({ a: 1 }), outputter: 'shout' });
  const { site } = siteWith(() => mapOf({ value, success: false, retcode: 0 }));
  expect(await site.run(CALL)).toEqual({ value, success: false, retcode: 0 });
});

test('a call that fails is an outcome', async () => {
  const { site } = siteWith(() => new PythonCallError('late', 'it ran longer than 5 s'));
  expect(await site.run(CALL)).toEqual({
    value: 'Exception occurred in runner site.greet: it ran longer than 5 s',
    success: false,
    retcode: 1,
  });
  await expect(site.shown(CALL)).rejects.toThrow('it ran longer than 5 s');
});

test('where Python does not start, no name is known and the log says why', async () => {
  const { site, troubles } = siteWith(() => new PythonCallError('start', 'brine.python: …'));
  expect(await site.knows('runner', 'site.greet')).toBe(false);
  expect(troubles).toEqual(['the functions of brine.python are not known']);
});
