import { RefusedError } from '@brine/client';
import { mapOf, pack, type SaltMap } from '@brine/wire';
import { pyRepr } from '@brine/wire/text';
import { expect, test } from 'vitest';
import { runInMaster } from './in-master.ts';

const TAG = 'salt/run/20261126030000000000';

/** Runs a call in a master that answers so and then fires these events. */
async function run(
  answer: () => SaltMap,
  events: readonly (readonly [tag: string, data: SaltMap])[] = [],
  exitCodes: 'strict' | 'stock' = 'strict',
  given: { readonly fun?: string; readonly level?: string; readonly credentials?: SaltMap } = {},
) {
  const shown: unknown[] = [];
  const printed: string[] = [];
  const said: string[] = [];
  const client = { command: () => Promise.resolve().then(answer) };
  const master = {
    client,
    listen: (onEvent: (tag: string, packed: Uint8Array) => void) => {
      for (const [tag, data] of events) onEvent(tag, pack(data));
      return Promise.resolve({ close: () => undefined });
    },
  };
  const { fun = 'site.nothing', level, credentials = mapOf({}) } = given;
  const values = new Map(level === undefined ? [] : [['log_level', level]]);
  const options = { values, given: new Set(), args: [] };
  const terminal = {
    ownsSignals: false,
    out: (text: string) => printed.push(text),
    err: (text: string) => said.push(text),
  };
  const printer = { options: {}, show: (value: unknown) => shown.push(value) };
  const call = { fun, args: [], credentials };
  const config = { brine: { exitCodes }, logLevel: 'warning' };
  const exit = await runInMaster(call, { config, master, printer, terminal, options } as never);
  return { exit, shown, printed, said };
}

const begun = () => mapOf({ tag: TAG, jid: TAG.slice(-20) });

test('a function that the master does not have ends with 1, or as in Salt', async () => {
  const refuse = () => {
    throw new RefusedError('CommandExecutionError', "'site.nothing' is not available.");
  };
  expect(await run(refuse)).toMatchObject({
    exit: 1,
    shown: ["'site.nothing' is not available."],
  });
  expect(await run(refuse, [], 'stock')).toMatchObject({ exit: 0 });
});

test('the beginning of a name shows the functions that begin so', async () => {
  const refuse = () => {
    throw new RefusedError('CommandExecutionError', "'jobs.list' is not available.");
  };
  const { exit, shown, said } = await run(refuse, [], 'strict', { fun: 'jobs.list' });
  expect(exit).toBe(1);
  expect(shown.map((docs) => [...(docs as SaltMap).keys()])).toEqual([
    ['jobs.list_job', 'jobs.list_jobs', 'jobs.list_jobs_filter'],
  ]);
  expect(said).toEqual([]);
});

test.each([
  ['test.arg', mapOf({}), "{'args': ('a', 1), 'kwargs': {}}"],
  ['test.raw_arg', mapOf({}), "{'args': ('a', 1), 'kwargs': {}}"],
  // With a login Salt asks the master as well.
  ['test.arg', mapOf({ token: 't' }), "{'args': ['a', 1], 'kwargs': {}}"],
  ['site.args', mapOf({}), "{'args': ['a', 1], 'kwargs': {}}"],
])('%s: what is a tuple in Python shows as one', async (fun, credentials, repr) => {
  const value = mapOf({ args: ['a', 1], kwargs: mapOf({}) });
  const data = mapOf({ return: value, success: true });
  const { shown } = await run(begun, [[`${TAG}/ret`, data]], 'strict', { fun, credentials });
  expect(shown.map((one) => pyRepr(one as SaltMap))).toEqual([repr]);
});

test('a call that the master refuses ends with an error, or as in Salt', async () => {
  const refusedAs = (name: string) => () => {
    throw new RefusedError(name, 'no');
  };
  for (const name of ['EauthAuthenticationError', 'TokenAuthenticationError']) {
    expect(await run(refusedAs(name))).toMatchObject({ exit: 2, shown: ['no'] });
    expect(await run(refusedAs(name), [], 'stock')).toMatchObject({ exit: 0, shown: ['no'] });
  }
  expect(await run(refusedAs('SaltRunnerError'))).toMatchObject({ exit: 1, shown: ['no'] });
});

test('events that come before the answer count, and those of other runs do not', async () => {
  const found = await run(begun, [
    ['salt/run/20261126030000000001/ret', mapOf({ return: 'other', success: true })],
    [`${TAG}/ret`, mapOf({ return: 'mine', success: true })],
  ]);
  expect(found).toMatchObject({ exit: 0, shown: ['mine'] });
});

test('the exit code is that of the event, or of what it returned', async () => {
  const ended = async (data: SaltMap) => (await run(begun, [[`${TAG}/ret`, data]])).exit;
  expect(await ended(mapOf({ return: 1, success: false, retcode: 3 }))).toBe(3);
  expect(await ended(mapOf({ return: mapOf({ retcode: 2 }), success: true }))).toBe(2);
  expect(await ended(mapOf({ return: 1, success: false }))).toBe(1);
});

test.each([
  [undefined, ['[ERROR   ] went wrong\n']],
  ['error', ['[ERROR   ] went wrong\n']],
  ['critical', []],
  ['quiet', []],
])('with -l %s the failed state of an orchestration has its log line', async (level, lines) => {
  const state = mapOf({ name: 'a', result: false, changes: mapOf({}), comment: 'went wrong' });
  const value = mapOf({ data: mapOf({ m_master: mapOf({ a: state }) }), outputter: 'highstate' });
  const ended = mapOf({ return: value, success: false, retcode: 1 });
  const given = { fun: 'state.orchestrate', ...(level === undefined ? {} : { level }) };
  const { said, exit } = await run(begun, [[`${TAG}/ret`, ended]], 'strict', given);
  expect(said).toEqual(lines);
  expect(exit).toBe(1);
});

test.each([
  [undefined, ["[CRITICAL] Rendering SLS 'base:a' failed: why\n"]],
  ['critical', ["[CRITICAL] Rendering SLS 'base:a' failed: why\n"]],
  ['quiet', []],
])('with -l %s an SLS file that does not render has its log line', async (level, lines) => {
  const errors = mapOf({ m_master: ["Rendering SLS 'base:a' failed: why"] });
  const value = mapOf({ data: errors, outputter: 'highstate', retcode: 1 });
  const ended = mapOf({ return: value, success: false, retcode: 1 });
  const given = { fun: 'state.orchestrate', ...(level === undefined ? {} : { level }) };
  const { said } = await run(begun, [[`${TAG}/ret`, ended]], 'strict', given);
  expect(said).toEqual(lines);
});
