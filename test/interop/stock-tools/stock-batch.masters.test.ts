import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { jobDir } from '@brine/cachedir';
import { newestOf, type SaltOutput } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { isMap, textOf, unpack } from '@brine/wire';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MINIONS, StockCli } from './stock-cli.ts';

const NEW = newestOf('3008');

describe('batches of the stock 3008 command on the host of a Brine master', () => {
  let cli: StockCli;

  beforeAll(async () => {
    cli = await StockCli.start([NEW]);
  });
  afterAll(async () => {
    await cli?.master.close();
  });

  const jidIn = (text: string): string => /\d{20}/.exec(text)?.[0] ?? '';
  const own = async (...args: readonly string[]): Promise<unknown> => {
    const { stdout } = await cli.master.brine('run', [...args, '--out', 'json']);
    return JSON.parse(stdout) as unknown;
  };

  it('that is handed over with --async goes on in the workers', async () => {
    const args = ['--async', '-b', '1', '*', 'test.echo', 'handed over'];
    const { code, stdout } = await cli.run(NEW, 'salt', args);
    expect(code).toBe(0);
    const jid = jidIn(stdout);
    const all = Object.fromEntries(MINIONS.map((id) => [id, 'handed over']));
    await until(
      'all minions have returned',
      async () => {
        expect(await own('jobs.lookup_jid', jid)).toEqual(all);
        return true;
      },
      { withinMs: 60_000 },
    );
    expect(await own('batch.status', jid)).toMatchObject({
      jid,
      fun: 'test.echo',
      total: 3,
      pending: 0,
      halted: false,
    });
  });

  it('that runs in the command itself is one as ever, and one of ours is seen by it', async () => {
    const { code, stdout } = await cli.run(NEW, 'salt', ['-b', '1', '*', 'test.ping']);
    expect(code).toBe(0);
    for (const id of MINIONS) expect(stdout).toContain(`${id}:\n    True\n`);
    const ours = await cli.master.brine('salt', ['--async', '-b', '1', '*', 'test.sleep', '1']);
    const jid = jidIn(ours.stdout);
    const completed = async (): Promise<number | undefined> => {
      const args = ['batch.status', jid, '--out', 'json'];
      const { stdout: shown } = await cli.run(NEW, 'salt-run', args);
      return (JSON.parse(shown) as { readonly completed?: number } | null)?.completed;
    };
    await until('the stock runner sees its end', async () => (await completed()) === 3, {
      withinMs: 60_000,
    });
    const path = join(jobDir({ cachedir: cli.master.home.cacheDir }, jid), '.batch.p');
    const state = unpack(await readFile(path));
    expect(isMap(state) && textOf(state, 'driver')).toBe('brine');
  });

  const NO_MATCH = 'No minions matched the target. No command was sent, no jid was assigned.\n';

  it.each([
    { command: 'salt', args: ['nobody', 'test.ping', '-b', '1'], said: NO_MATCH, exit: 2 },
    { command: 'salt', args: ['nobody', 'test.ping', '--subset=-1'], said: NO_MATCH, exit: 2 },
    { command: 'salt', args: ['*', 'test.ping', '--subset=-1'], said: 'True', exit: 0 },
    { command: 'salt-cp', args: ['nobody', 'FILE', '/nowhere'], said: NO_MATCH, exit: 0 },
    { command: 'salt-cp', args: ['-C', 'nobody', 'FILE', '/nowhere'], said: NO_MATCH, exit: 0 },
  ])(
    '$command $args prints what the stock one prints, and ends as it',
    async ({ command, args, said, exit }) => {
      const file = join(cli.master.home.configDir, 'master');
      const given = args.map((arg) => (arg === 'FILE' ? file : arg));
      const theirs = await cli.run(NEW, command, given);
      const { stdout, stderr, code } = await cli.master.brine(command.replace('salt-', ''), given);
      expect(named({ stdout, stderr, code })).toEqual(named(theirs));
      expect(code).toBe(exit);
      expect(stdout).toContain(said);
    },
  );
});

/** Which minion a subset has is chance. */
function named({ stdout, stderr, code }: SaltOutput): SaltOutput {
  return { stdout: stdout.replace(/^fast-\d:$/m, 'fast:'), stderr, code };
}
