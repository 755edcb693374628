import { BrineMaster, saltVenv, type SaltHome, type SaltProcess } from '@brine/testing';
import type { SaltVenv, SaltVersion } from '@brine/testing';
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

// Six minions of all releases, and Salt's own memory of 100 jids, with BRINE_DURABLE_STOCK=all; in
// the suite two minions whose memory is smaller.
const ALL = process.env['BRINE_DURABLE_STOCK'] === 'all';
const VERSIONS: readonly SaltVersion[] = ALL
  ? ['3006.5', '3006.26', '3007.13', '3008.2', '3006.26', '3008.2']
  : ['3006.26', '3008.2'];
const MEMORY = ALL ? 100 : 20;
const OTHER_JOBS = ALL ? 150 : 30;
const AT_ONCE = 5;
const BACK_TIMEOUT_MS = 180_000;

interface Stock {
  readonly id: string;
  readonly venv: SaltVenv;
  readonly home: SaltHome;
  process: SaltProcess;
}

describe('durable jobs and stock minions', () => {
  let master: BrineMaster;
  const minions: Stock[] = [];
  let ran: string;

  beforeAll(async () => {
    const venvs = await Promise.all(VERSIONS.map((version) => saltVenv(version)));
    master = await BrineMaster.start({
      minimum_auth_version: 0,
      // As the stock command line of 3008.2 reads it.
      brine: { event_framing: 'bare' },
    });
    ran = join(master.home.configDir, 'ran');
    for (const [index, venv] of venvs.entries()) {
      const id = `stock-${index}`;
      const config = { minion_jid_queue_hwm: MEMORY };
      const home = await master.sandbox.minion(id, master.home.retPort, config);
      minions.push({ id, venv, home, process: master.sandbox.startMinion(venv, home) });
    }
    const ids = minions.map(({ id }) => id);
    await master.acceptKeys(ids, 180_000);
    await master.waitForMinions(ids, 240_000);
  }, 600_000);
  afterAll(async () => {
    await master?.close();
  });

  const of = (index: number): Stock => {
    const minion = minions[index];
    if (minion === undefined) throw new Error(`no minion ${index}`);
    return minion;
  };
  /** Leaves a line for each run; `then` is what comes after it. */
  const publish = async (token: string, then = 'true'): Promise<string> => {
    const command = `echo ${token} >> ${ran}; ${then}`;
    const args = ['--async', '--durable', '1h', '*', 'cmd.run', command];
    const { stdout } = await master.brine('salt', args);
    const jid = /\d{20}/.exec(stdout)?.[0];
    if (jid === undefined) throw new Error(stdout);
    return jid;
  };
  const runs = async (token: string): Promise<number> => {
    const text = await readFile(ran, 'utf8').catch(() => '');
    return text.split('\n').filter((line) => line === token).length;
  };
  const returned = async (jid: string): Promise<string[]> => {
    const { stdout } = await master.brine('run', ['jobs.list_job', jid, '--out', 'json']);
    const { Result } = JSON.parse(stdout) as { Result?: Record<string, unknown> };
    return Object.keys(Result ?? {}).sort();
  };
  const restart = (minion: Stock): void => {
    minion.process = master.sandbox.startMinion(minion.venv, minion.home);
  };
  const ids = (): string[] => minions.map(({ id }) => id).sort();

  it('one that was away runs it once when it is back; one that was there is not sent it twice', async () => {
    const away = of(0);
    await away.process.stop();
    // By the stock command line, which knows nothing of --durable.
    const { venv } = of(minions.length - 1);
    const { stdout } = await master.sandbox.run(venv, 'salt', master.home, [
      ...['--async', '--metadata', '{brine_durable: 1h}', '*', 'cmd.run', `echo away >> ${ran}`],
    ]);
    const jid = /\d{20}/.exec(stdout)?.[0] ?? stdout;
    await expect.poll(() => runs('away'), { timeout: 60_000 }).toBe(minions.length - 1);
    restart(away);
    const started = Date.now();
    await expect.poll(() => returned(jid), { timeout: BACK_TIMEOUT_MS }).toEqual(ids());
    process.stdout.write(`back, ran and returned after ${Date.now() - started} ms\n`);
    expect(await runs('away')).toBe(minions.length);
  }, 300_000);

  it('one that ran it, lost the return and restarted runs it again; one return counts', async () => {
    const killed = of(minions.length - 1);
    const jid = await publish('killed', 'sleep 8');
    await expect.poll(() => runs('killed'), { timeout: 60_000 }).toBe(minions.length);
    killGroup(killed.process);
    restart(killed);
    await expect.poll(() => returned(jid), { timeout: BACK_TIMEOUT_MS }).toEqual(ids());
    expect(await runs('killed')).toBe(minions.length + 1);
  }, 300_000);

  it('one that lost its return and did many jobs since may run it once more, and no more', async () => {
    const busy = of(0);
    const jid = await publish('busy', 'sleep 6');
    await expect.poll(() => runs('busy'), { timeout: 60_000 }).toBe(minions.length);
    killJob(jid, busy);
    for (let job = 0; job < OTHER_JOBS; job += AT_ONCE) {
      const some = Array.from({ length: AT_ONCE }, () =>
        master.brine('salt', [busy.id, 'test.ping', '--out', 'json', '-t', '20']),
      );
      await Promise.all(some);
    }
    // The turns of the next minutes find it alive.
    const until = Date.now() + 90_000;
    while (Date.now() < until && (await runs('busy')) === minions.length) await sleep(500);
    await sleep(3_000);
    const count = await runs('busy');
    process.stdout.write(`runs after a lost return and ${OTHER_JOBS} jobs: ${count}\n`);
    expect([minions.length, minions.length + 1]).toContain(count);
    if (count > minions.length) {
      await expect.poll(() => returned(jid), { timeout: 60_000 }).toEqual(ids());
    }
  }, 900_000);
});

/** A minion and its jobs die without a word; they share the process group of their parent. */
function killGroup({ pid }: SaltProcess): void {
  if (pid === undefined) throw new Error('no process');
  process.kill(-pid, 'SIGKILL');
}

/** Kills the process of one job of one minion: its return is never sent, the minion lives on. */
function killJob(jid: string, { venv, home }: Stock): void {
  const script = `
import os, signal, sys
import salt.payload
with open(os.path.join(sys.argv[1], 'proc', sys.argv[2]), 'rb') as file:
    os.kill(salt.payload.loads(file.read())['pid'], signal.SIGKILL)
`;
  execFileSync(venv.python, ['-c', script, home.cacheDir, jid]);
}
