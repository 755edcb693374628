import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type BrineMaster, NEWEST_SALTS, newestOf } from '@brine/testing';
import { sized } from '@brine/testing/circle';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MINIONS, StockCli } from './stock-cli.ts';

const NEW = newestOf('3008');

describe('the stock command line on the host of a Brine master', () => {
  let cli: StockCli;
  let master: BrineMaster;

  beforeAll(async () => {
    cli = await StockCli.start();
    master = cli.master;
  });
  afterAll(async () => {
    await master?.close();
  });

  const run: StockCli['run'] = (...what) => cli.run(...what);

  // Fifty times in the deep layer.
  it.each(NEWEST_SALTS)(
    'salt %s gets every answer, and never has to ask whether a job still runs',
    (version) => cli.expectAnswers(version, sized({ change: 4, release: 10 })),
  );

  it.each(NEWEST_SALTS)('salt %s prints answers as they come', async (version) => {
    const { code, stdout } = await run(version, 'salt', ['*', 'test.ping']);
    expect(code).toBe(0);
    for (const id of MINIONS) expect(stdout).toContain(`${id}:\n    True\n`);
  });

  it.each(NEWEST_SALTS)('salt %s --async prints the job id', async (version) => {
    const { code, stdout } = await run(version, 'salt', ['*', 'test.ping', '--async']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Executed command with job ID: \d{20}\n$/);
  });

  it('salt-run jobs.lookup_jid of 3008 finds the job that salt published', async () => {
    const { stdout } = await run(NEW, 'salt', ['*', 'test.echo', 'kept', '--async']);
    const jid = /(\d{20})/.exec(stdout)?.[1] ?? '';
    const { code, stdout: listed } = await run(NEW, 'salt-run', [
      'jobs.list_job',
      jid,
      '--out',
      'json',
    ]);
    expect(code).toBe(0);
    const job = JSON.parse(listed) as Record<string, unknown>;
    expect(job).toMatchObject({ jid, Function: 'test.echo', Arguments: ['kept'] });
    expect([...(job['Minions'] as string[])].sort()).toEqual(MINIONS);
    const lookUp = async (): Promise<unknown> => {
      const { stdout: found } = await run(NEW, 'salt-run', [
        ...['jobs.lookup_jid', jid, '--out', 'json'],
      ]);
      return JSON.parse(found);
    };
    const all = Object.fromEntries(MINIONS.map((id) => [id, 'kept']));
    await expect.poll(lookUp, { timeout: 60_000, interval: 500 }).toEqual(all);
  });

  it('salt-run jobs.list_jobs of 3008 has runners: those of Brine, and its own', async () => {
    await master.brine('run', ['test.arg', 'by-brine']);
    await run(NEW, 'salt-run', ['config.get', 'id']);
    const runs = ['runner.config.get', 'runner.test.arg'];
    const listed = async (): Promise<unknown[]> => {
      const { stdout } = await run(NEW, 'salt-run', ['jobs.list_jobs', '--out', 'json']);
      const jobs = Object.values(JSON.parse(stdout) as Record<string, Record<string, unknown>>);
      return jobs.map((job) => job['Function']).filter((fun) => runs.includes(String(fun)));
    };
    const sorted = async (): Promise<unknown[]> => (await listed()).sort();
    await expect.poll(sorted, { timeout: 60_000, interval: 500 }).toEqual(runs);
  });

  it('the real salt-key lists and accepts a waiting key within a second', async () => {
    await master.startMinion('waiting-1');
    const waits = async (): Promise<boolean> =>
      (await run(NEW, 'salt-key', ['-l', 'un'])).stdout.includes('waiting-1');
    await until('waiting-1 is listed', waits, { withinMs: 60_000 });
    const { code } = await run(NEW, 'salt-key', ['-a', 'waiting-1', '-y']);
    expect(code).toBe(0);
    const acceptedAt = Date.now();
    await until('the workers know of the key', () => acceptedCount(master, MINIONS.length + 1));
    const noticedMs = Date.now() - acceptedAt;
    process.stdout.write(`salt-key -a noticed by the workers after ${noticedMs} ms\n`);
    const { stdout } = await run(NEW, 'salt-key', ['-L']);
    expect(stdout).toMatch(/Accepted Keys:\n(?:.*\n)*waiting-1\n/);
    await master.waitForMinions(['waiting-1']);
  });

  it('salt-key -d makes the master forget the minion and change its AES key', async () => {
    const dropped = join(master.home.cacheDir, '.dfn');
    const { code } = await run(NEW, 'salt-key', ['-d', 'waiting-1', '-y']);
    expect(code).toBe(0);
    const isGone = async (): Promise<boolean> =>
      !(await readdir(master.home.cacheDir)).includes('.dfn');
    await until(`${dropped} is taken away`, isGone);
    // The remaining minions sign in again by themselves and run the very next job.
    const args = ['-L', MINIONS.join(','), 'test.ping', '--static', '--out', 'json', '-t', '20'];
    const { stdout } = await master.brine('salt', args);
    expect(JSON.parse(stdout)).toEqual(Object.fromEntries(MINIONS.map((id) => [id, true])));
  });
});

async function acceptedCount(master: BrineMaster, count: number): Promise<boolean> {
  const { stdout } = await master.brine('status', ['--out', 'json']);
  const status = JSON.parse(stdout) as { readonly minions?: { readonly accepted?: number } };
  return status.minions?.accepted === count;
}
