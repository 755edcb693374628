import { RefusedError } from '@brine/client';
import { mapOf, pack, type SaltMap } from '@brine/wire';
import { expect, test } from 'vitest';
import { runInMaster } from './in-master.ts';

const TAG = 'salt/run/20261126030000000000';

/** Runs a call in a master that answers so and then fires these events. */
async function run(
  answer: () => SaltMap,
  events: readonly (readonly [tag: string, data: SaltMap])[] = [],
) {
  const shown: unknown[] = [];
  const printed: string[] = [];
  const client = { command: () => Promise.resolve().then(answer) };
  const master = {
    client,
    listen: (onEvent: (tag: string, packed: Uint8Array) => void) => {
      for (const [tag, data] of events) onEvent(tag, pack(data));
      return Promise.resolve({ close: () => undefined });
    },
  };
  const options = { values: new Map(), given: new Set(), args: [] };
  const terminal = { ownsSignals: false, out: (text: string) => printed.push(text), err: () => 0 };
  const printer = { options: {}, show: (value: unknown) => shown.push(value) };
  const call = { fun: 'site.nothing', args: [], credentials: mapOf({}) };
  const exit = await runInMaster(call, { master, printer, terminal, options } as never);
  return { exit, shown, printed };
}

const begun = () => mapOf({ tag: TAG, jid: TAG.slice(-20) });

test('a function that the master does not have ends with 1', async () => {
  const refuse = () => {
    throw new RefusedError('CommandExecutionError', "'site.nothing' is not available.");
  };
  expect(await run(refuse)).toMatchObject({
    exit: 1,
    shown: ["'site.nothing' is not available."],
  });
  // It loads the whole table, for a name that is near.
}, 120_000);

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
