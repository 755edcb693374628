import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SaltVenv, SaltVersion } from '@brine/testing';
import { BrineMaster, type SaltHome, type SaltProcess, saltVenv } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

// Six minions, two of each release, and Salt's own memory of 100 jids, with
// BRINE_DURABLE_STOCK=all; in the suite three minions whose memory is smaller.
const ALL = process.env['BRINE_DURABLE_STOCK'] === 'all';
const RELEASES: readonly SaltVersion[] = ['3006.26', '3008.2', '3007.13'];
const VERSIONS = ALL ? [...RELEASES, ...RELEASES] : RELEASES;
const MEMORY = ALL ? 100 : 10;
const OTHER_JOBS = ALL ? 150 : 15;
const AT_ONCE = 5;
const BACK = { timeout: 240_000, interval: 1_000 };
// Of a job without a return the third and last sending comes after 40 s or at its next turn.
const THREE_SENDINGS_MS = 90_000;

interface Stock {
  readonly id: string;
  readonly venv: SaltVenv;
  readonly home: SaltHome;
  process: SaltProcess;
}

describe('durable jobs and stock minions', () => {
  let master: BrineMaster;
  const minions: Stock[] = [];
  /** Process groups of minions, those of before a restart too. */
  const groups = new Map<number, string>();
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
      minions.push({ id, venv, home, process: start({ id, venv, home }) });
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
  const jids = { away: '', killed: '', busy: '' };
  type Token = keyof typeof jids;
  /** Leaves a line for each run, with the process group of the minion that runs it. */
  const command = (token: Token, then: string): string =>
    `echo ${token} $(cut -d' ' -f5 /proc/self/stat) >> ${ran}; ${then}`;
  const publish = async (token: Token, then: string): Promise<void> => {
    const args = ['--async', '--durable', '1h', '*', 'cmd.run', command(token, then)];
    jids[token] = jidIn((await master.brine('salt', args)).stdout);
  };
  /** Who ran it, once for each run. */
  const runs = async (token: Token): Promise<string[]> => {
    const text = await readFile(ran, 'utf8').catch(() => '');
    const lines = text.split('\n').map((line) => line.split(' '));
    return lines
      .flatMap(([name, group]) => (name === token ? [groups.get(Number(group)) ?? 'nobody'] : []))
      .sort();
  };
  const returned = async (token: Token): Promise<string[]> => {
    const args = ['jobs.list_job', jids[token], '--out', 'json'];
    const { stdout } = await master.brine('run', args);
    const { Result } = JSON.parse(stdout) as { Result?: Record<string, unknown> };
    return Object.keys(Result ?? {}).sort();
  };
  const start = (minion: Pick<Stock, 'id' | 'venv' | 'home'>): SaltProcess => {
    const started = master.sandbox.startMinion(minion.venv, minion.home);
    if (started.pid !== undefined) groups.set(started.pid, minion.id);
    return started;
  };
  const ids = (): string[] => minions.map(({ id }) => id).sort();
  const without = (...absent: Stock[]): string[] =>
    ids().filter((id) => absent.every((minion) => minion.id !== id));

  it('three jobs: one minion is away, one is killed, one loses its return and works on', async () => {
    const [away, killed, busy] = [of(0), of(1), of(2)];
    await away.process.stop();
    // By the stock command line, which knows nothing of --durable.
    const { stdout } = await master.sandbox.run(killed.venv, 'salt', master.home, [
      ...['--async', '--metadata', '{brine_durable: 1h}', '*', 'cmd.run', command('away', 'true')],
    ]);
    jids.away = jidIn(stdout);
    await expect.poll(() => runs('away'), BACK).toEqual(without(away));
    // A minion that is killed before it has sent its return runs the job again, rightly.
    await expect.poll(() => returned('away'), BACK).toEqual(without(away));

    await publish('killed', 'sleep 20');
    await expect.poll(() => runs('killed'), BACK).toEqual(without(away));
    killGroup(killed.process);

    await publish('busy', 'sleep 20');
    await expect.poll(() => runs('busy'), BACK).toEqual(without(away, killed));
    killJob(jids.busy, busy);
    // With so small a memory it would run again what it still runs: repetitions count on 100.
    await expect.poll(() => returned('killed'), BACK).toEqual(without(away, killed));
    away.process = start(away);
    killed.process = start(killed);
    for (let job = 0; job < OTHER_JOBS; job += AT_ONCE) {
      // One and the same command, given five times at once, would be one job.
      const some = Array.from({ length: AT_ONCE }, (_, one) =>
        master.brine('salt', [busy.id, 'test.echo', `${job + one}`, '-t', '20']),
      );
      await Promise.all(some);
    }
  }, 600_000);

  it('who was away runs it once when it is back; who was there is not sent it twice', async () => {
    await expect.poll(() => returned('away'), BACK).toEqual(ids());
    expect(await runs('away')).toEqual(ids());
  }, 300_000);

  it('who ran it, lost the return and restarted runs it again; one return counts', async () => {
    await expect.poll(() => returned('killed'), BACK).toEqual(ids());
    expect(await runs('killed')).toEqual([...ids(), of(1).id].sort());
  }, 300_000);

  it('who lost the return and did many jobs since may run it once more, and no more', async () => {
    const busy = of(2);
    await expect.poll(() => returned('busy'), BACK).toEqual(expect.arrayContaining(without(busy)));
    const twice = [...ids(), busy.id].sort();
    // It may answer or not: both are right after that time.
    const again = async (): Promise<boolean> => (await runs('busy')).length >= twice.length;
    const options = { withinMs: THREE_SENDINGS_MS };
    await until('it runs once more', again, options).catch(() => undefined);
    const seen = await runs('busy');
    process.stdout.write(`runs after a lost return and ${OTHER_JOBS} jobs: ${seen.join(' ')}\n`);
    expect([ids(), twice]).toContainEqual(seen);
    if (seen.length < twice.length) return;
    await expect.poll(() => returned('busy'), BACK).toEqual(ids());
    expect(await runs('busy')).toEqual(twice);
  }, 600_000);
});

function jidIn(output: string): string {
  const jid = /\d{20}/.exec(output)?.[0];
  if (jid === undefined) throw new Error(output);
  return jid;
}

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
