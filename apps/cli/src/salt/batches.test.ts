import { mapOf, type SaltMap } from '@brine/wire';
import { expect, test } from 'vitest';
import { runInBatches } from './batches.ts';

type Said = readonly [suffix: string, data: SaltMap];

/**
 * Runs `salt -b 1`, with `--async` or not, against a master that answers so, and then says this of
 * the batch.
 */
async function run(answer: SaltMap, says: readonly Said[], isAsync = true) {
  const printed: string[] = [];
  let jid = '';
  const queue = [...says];
  const client = {
    waits: { timeoutMs: 1, gatherJobTimeoutMs: 1 },
    listen: () =>
      Promise.resolve({
        next: () => {
          const [suffix, data] = queue.shift() ?? [];
          if (suffix === undefined) throw new Error('the command waits for more');
          return Promise.resolve({ tag: `salt/batch/${jid}/${suffix}`, data });
        },
        close: () => undefined,
      }),
    order: (_name: string, command: { jid: string }) => {
      jid = command.jid;
      return Promise.resolve(answer);
    },
  };
  const options = {
    values: new Map<string, unknown>([
      ['async', isAsync],
      ['batch', '1'],
    ]),
    given: new Set(['batch', ...(isAsync ? ['async'] : [])]),
    args: [],
  };
  const terminal = {
    ownsSignals: false,
    out: (text: string) => printed.push(text),
    err: (text: string) => printed.push(text),
  };
  const command = { tgt: '*', tgtType: 'glob', fun: 'test.ping', arg: [] };
  const config = { brine: { trace: 'off', exitCodes: 'strict' } };
  const code = await runInBatches({ options, terminal, config, client, command } as never);
  return { code, printed: printed.join('').replaceAll(jid, 'JID'), left: queue.length };
}

const state = (more: Parameters<typeof mapOf>[0]) => mapOf({ completed: 0, brine: mapOf(more) });
const BEGUN = mapOf({});
const DISPATCHED: Said = ['progress', state({ seq: 1, dispatched: ['a'] })];

test('--async names the minions that are down, then the job id, and ends', async () => {
  const down: Said = ['new', state({ seq: 0, down: ['c', 'b'] })];
  expect(await run(BEGUN, [down, DISPATCHED, DISPATCHED])).toEqual({
    code: 0,
    printed:
      'Minion b did not respond. No job will be sent.\n' +
      'Minion c did not respond. No job will be sent.\n' +
      'Executed batch command with job ID: JID\n',
    left: 1,
  });
  const none: Said = ['new', state({ seq: 0 })];
  expect((await run(BEGUN, [none, DISPATCHED])).printed).toBe(
    'Executed batch command with job ID: JID\n',
  );
});

test('--async says in words of Salt that no minion matched, or that none answers', async () => {
  expect(await run(mapOf({ matched: false }), [])).toMatchObject({
    code: 0,
    printed:
      'No minions matched the target. No command was sent, no jid was assigned.\n' +
      'No minions matched the target.\n',
  });
  const down: Said = ['new', state({ seq: 0, down: ['b'] })];
  const end: Said = ['complete', state({ seq: 0 })];
  expect(await run(BEGUN, [down, end])).toMatchObject({
    code: 0,
    printed: 'No minions matched the target.\n',
  });
});

test('a batch without minions ends with 2 and says that nothing returned', async () => {
  expect(await run(mapOf({ matched: false }), [], false)).toMatchObject({
    code: 2,
    printed:
      'No minions matched the target. No command was sent, no jid was assigned.\n' +
      'No minions matched the target.\nERROR: No return received\n',
  });
});

test('a batch names the minions that are down if one runs, and not if none does', async () => {
  const down: Said = ['new', state({ seq: 0, down: ['b'] })];
  const end: Said = ['complete', state({ seq: 1 })];
  expect(await run(BEGUN, [down, ['complete', state({ seq: 0 })]], false)).toMatchObject({
    code: 2,
    printed: 'ERROR: No return received\n',
  });
  expect(await run(BEGUN, [down, DISPATCHED, end], false)).toMatchObject({
    code: 0,
    printed: "Minion b did not respond. No job will be sent.\n\nExecuting run on ['a']\n\n",
  });
});

test('--async ends with 2 where the master halts the batch before its first minion', async () => {
  const halted = state({ seq: 0 }).set('reason', 'the login has ended');
  const found = await run(BEGUN, [
    ['new', state({ seq: 0 })],
    ['halted', halted],
  ]);
  expect(found.code).toBe(2);
  expect(found.printed).toContain('Batch run stopped: the login has ended');
});
