import {
  BrineMaster,
  saltVenv,
  type SaltHome,
  type SaltVenv,
  type SaltVersion,
} from '@brine/testing';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const MINIONS = ['fast-1', 'fast-2', 'fast-3'];
const RUNS = 50;

/** Each release reads the event socket in its own framing (salt/transport/ipc.py, tcp.py). */
const FRAMING: Record<string, 'bare' | 'prefixed'> = {
  '3006.26': 'prefixed',
  '3007.13': 'bare',
  '3008.2': 'bare',
};

describe('the stock command line on the host of a Brine master', () => {
  let master: BrineMaster;
  const venvs = new Map<string, SaltVenv>();
  const homes = new Map<string, SaltHome>();

  beforeAll(async () => {
    for (const version of Object.keys(FRAMING)) {
      venvs.set(version, await saltVenv(version as SaltVersion));
    }
    // Named, so that the job files hold returns too: no stock salt is on this host's PATH.
    master = await BrineMaster.start({ brine: { workers: 2, event_framing: 'bare' } });
    for (const [version, framing] of Object.entries(FRAMING)) {
      homes.set(version, await stockConfig(master, version, framing));
    }
    for (const id of MINIONS) await master.startMinion(id);
    await master.acceptKeys(MINIONS);
    await master.waitForMinions(MINIONS);
  });
  afterAll(async () => {
    await master.close();
  });

  function stock(version: string): { venv: SaltVenv; home: SaltHome } {
    const venv = venvs.get(version);
    const home = homes.get(version);
    if (venv === undefined || home === undefined) throw new Error(`no Salt ${version}`);
    return { venv, home };
  }
  const run = (version: string, command: string, args: readonly string[]) => {
    const { venv, home } = stock(version);
    return master.sandbox.run(venv, command, home, args);
  };

  it.each(Object.keys(FRAMING))(
    'salt %s gets every answer, and never has to ask whether a job still runs',
    async (version) => {
      const before = await findJobs(master);
      for (let index = 0; index < RUNS; index += 1) {
        // In so long nothing but a lost answer makes it ask.
        const args = ['*', 'test.ping', '--out', 'json', '--static', '-t', '60'];
        const { code, stdout, stderr } = await run(version, 'salt', args);
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
        const answers = JSON.parse(stdout) as Record<string, unknown>;
        expect(answers).toEqual(Object.fromEntries(MINIONS.map((id) => [id, true])));
      }
      expect(await findJobs(master)).toBe(before);
    },
    600_000,
  );

  it.each(Object.keys(FRAMING))('salt %s prints answers as they come', async (version) => {
    const { code, stdout } = await run(version, 'salt', ['*', 'test.ping']);
    expect(code).toBe(0);
    for (const id of MINIONS) expect(stdout).toContain(`${id}:\n    True\n`);
  });

  it.each(Object.keys(FRAMING))('salt %s --async prints the job id', async (version) => {
    const { code, stdout } = await run(version, 'salt', ['*', 'test.ping', '--async']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Executed command with job ID: \d{20}\n$/);
  });

  it('salt-run jobs.lookup_jid of 3008.2 finds the job that salt published', async () => {
    const { stdout } = await run('3008.2', 'salt', ['*', 'test.echo', 'kept', '--async']);
    const jid = /(\d{20})/.exec(stdout)?.[1] ?? '';
    const { code, stdout: listed } = await run('3008.2', 'salt-run', [
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
      const { stdout: found } = await run('3008.2', 'salt-run', [
        ...['jobs.lookup_jid', jid, '--out', 'json'],
      ]);
      return JSON.parse(found);
    };
    const all = Object.fromEntries(MINIONS.map((id) => [id, 'kept']));
    await expect.poll(lookUp, { timeout: 60_000, interval: 500 }).toEqual(all);
  });

  it('the real salt-key lists and accepts a waiting key within a second', async () => {
    await master.startMinion('waiting-1');
    const until = Date.now() + 60_000;
    let listed = '';
    while (!listed.includes('waiting-1') && Date.now() < until) {
      listed = (await run('3008.2', 'salt-key', ['-l', 'un'])).stdout;
    }
    expect(listed).toContain('waiting-1');
    const { code } = await run('3008.2', 'salt-key', ['-a', 'waiting-1', '-y']);
    expect(code).toBe(0);
    const acceptedAt = Date.now();
    while (!(await acceptedCount(master, MINIONS.length + 1)) && Date.now() < acceptedAt + 10_000) {
      await sleep(50);
    }
    const noticedMs = Date.now() - acceptedAt;
    process.stdout.write(`salt-key -a noticed by the workers after ${noticedMs} ms\n`);
    expect(await acceptedCount(master, MINIONS.length + 1)).toBe(true);
    const { stdout } = await run('3008.2', 'salt-key', ['-L']);
    expect(stdout).toMatch(/Accepted Keys:\n(?:.*\n)*waiting-1\n/);
    await master.waitForMinions(['waiting-1']);
  });

  it('salt-key -d makes the master forget the minion and change its AES key', async () => {
    const dropped = join(master.home.cacheDir, '.dfn');
    const { code } = await run('3008.2', 'salt-key', ['-d', 'waiting-1', '-y']);
    expect(code).toBe(0);
    const until = Date.now() + 15_000;
    const isThere = async (): Promise<boolean> =>
      (await readdir(master.home.cacheDir)).includes('.dfn');
    while ((await isThere()) && Date.now() < until) await sleep(100);
    expect(await isThere(), `${dropped} is taken away`).toBe(false);
    // The remaining minions sign in again by themselves and run the very next job.
    const args = ['-L', MINIONS.join(','), 'test.ping', '--static', '--out', 'json', '-t', '20'];
    const { stdout } = await master.brine('salt', args);
    expect(JSON.parse(stdout)).toEqual(Object.fromEntries(MINIONS.map((id) => [id, true])));
  });
});

/** A configuration folder for a stock CLI: the master's, with the sockets in its framing. */
async function stockConfig(
  master: BrineMaster,
  version: string,
  framing: string,
): Promise<SaltHome> {
  const { home } = master;
  const configDir = join(master.sandbox.dir, `cli-${version}`);
  await mkdir(configDir);
  await chmod(configDir, 0o755);
  const sockDir = join(home.sockDir, framing);
  const lines = (await master.file('master'))
    .split('\n')
    .filter((line) => !/^(sock_dir|brine):/.test(line));
  lines.push(`sock_dir: ${JSON.stringify(sockDir)}`);
  await writeFile(join(configDir, 'master'), `${lines.join('\n')}\n`);
  return { ...home, configDir, sockDir };
}

/**
 * How often anybody asked whether a job still runs; such jobs are hidden from lists, not from disk.
 */
async function findJobs(master: BrineMaster): Promise<number> {
  const dir = join(master.home.cacheDir, 'jobs');
  const names = await readdir(dir, { recursive: true });
  const loads = names.filter((name) => name.endsWith('.load.p'));
  const texts = await Promise.all(loads.map((name) => readFile(join(dir, name), 'latin1')));
  expect(texts.length).toBeGreaterThan(0);
  return texts.filter((text) => text.includes('saltutil.find_job')).length;
}

async function acceptedCount(master: BrineMaster, count: number): Promise<boolean> {
  const { stdout } = await master.brine('status', ['--out', 'json']);
  const status = JSON.parse(stdout) as { readonly minions?: { readonly accepted?: number } };
  return status.minions?.accepted === count;
}
