import type { Command, JobReturn } from '@brine/client';
import { mapOf } from '@brine/wire';
import { expect, test } from 'vitest';
import { runAndShow } from './run-and-show.ts';

const NO_MATCH = 'No minions matched the target. No command was sent, no jid was assigned.\n';

/** Runs `salt --subset=N` on minions of which each has `test.ping`. */
async function run(subset: number, minions: readonly string[]) {
  const printed: string[] = [];
  const sent: Command[] = [];
  const client = {
    publish: (command: Command) => {
      sent.push(command);
      const ids = typeof command.tgt === 'string' ? minions : command.tgt;
      const job = { jid: '20261126120000123456', minions: ids, fun: command.fun };
      return Promise.resolve(ids.length === 0 ? undefined : job);
    },
    async *returns(job: {
      readonly minions: readonly string[];
      readonly fun: string;
    }): AsyncGenerator<JobReturn> {
      for (const id of job.minions) {
        const ret = job.fun === 'sys.list_functions' ? ['test.ping'] : true;
        yield { kind: 'return', id, ret };
      }
    },
  };
  const terminal = {
    ownsSignals: false,
    out: (text: string) => printed.push(text),
    err: (text: string) => printed.push(text),
  };
  const printer = { options: { output: 'quiet' }, show: () => true };
  const values = new Map<string, unknown>([['subset', subset]]);
  const options = { values, given: new Set(['subset']), args: [] };
  const config = { brine: { trace: 'off', exitCodes: 'strict' } };
  const command = { tgt: '*', tgtType: 'glob', fun: 'test.ping', arg: [], kwargs: mapOf({}) };
  const code = await runAndShow({
    options,
    terminal,
    printer,
    config,
    client,
    command,
  } as never);
  return { code, printed: printed.join(''), sent };
}

test.each([
  [1, 1],
  [2, 2],
  [9, 3],
  // To Salt that is a subset too, of whatever is looked at first.
  [-1, 1],
])('--subset=%i goes to %i of three minions', async (subset, count) => {
  const { code, sent } = await run(subset, ['one', 'two', 'three']);
  expect(sent.map(({ fun }) => fun)).toEqual(['sys.list_functions', 'test.ping']);
  expect(sent[1]).toMatchObject({ tgtType: 'list' });
  expect(sent[1]?.tgt).toHaveLength(count);
  expect(code).toBe(0);
});

test('--subset=0 is no subset', async () => {
  const { sent } = await run(0, ['one', 'two']);
  expect(sent.map(({ tgt }) => tgt)).toEqual(['*']);
});

test('a subset of no minions says so for both targets, as Salt does', async () => {
  const { code, printed } = await run(1, []);
  expect(code).toBe(2);
  expect(printed).toBe(`${NO_MATCH}${NO_MATCH}ERROR: No return received\n`);
});
