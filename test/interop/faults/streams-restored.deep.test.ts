import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  BrineMaster,
  endPool,
  freePorts,
  saltVenv,
  startPostgres,
  type TestPostgres,
} from '@brine/testing';
import { growsOld, workTakes } from '@brine/testing/waits';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BreakableNats } from '../../integration/faults/breakable-nats.ts';

/** How old the copy is that is put back. */
const AGE_MS = Number(process.env['BRINE_RESTORE_AGE_S'] ?? 8) * 1000;
const STOCK = 'stock-3008';
const OURS = 'brine-minion';
const MINIONS = [OURS, STOCK];
/** Releases from 3007 on sign in twice where they have to: listener, then request channel. */
const LOGINS_MAX = 2 * MINIONS.length;

describe('the streams are put back as they were a while ago', () => {
  let nats: BreakableNats;
  let postgres: TestPostgres;
  let pool: pg.Pool;
  let master: BrineMaster;
  let metricsPort: number;
  let ranFile: string;
  const tokens: string[] = [];

  beforeAll(async () => {
    const venv = await saltVenv('3008.2');
    [nats, postgres] = await Promise.all([BreakableNats.start(), startPostgres()]);
    pool = new pg.Pool({ connectionString: postgres.url, max: 2 });
    [metricsPort = 0] = await freePorts(1);
    master = await BrineMaster.start({
      brine: {
        workers: 2,
        nats: { url: nats.url },
        postgres: { url: postgres.url },
        metrics: { port: metricsPort },
      },
    });
    ranFile = join(master.home.configDir, 'ran');
    master.sandbox.startMinion(venv, await master.sandbox.minion(STOCK, master.home.retPort));
    await master.startMinion(OURS);
    await master.acceptKeys(MINIONS, 180_000);
    await master.waitForMinions(MINIONS, 180_000);
  });
  afterAll(async () => {
    await master?.close();
    if (pool !== undefined) await endPool(pool);
    await postgres?.stop();
    await nats?.[Symbol.asyncDispose]();
  });

  it.each([
    ['while the services go on', async () => undefined],
    ['and all services die with them', killServices],
  ])(
    '%s: the next job runs once, and nothing is counted twice',
    async (_, also) => {
      await runJob();
      // All that was stored is on disk after `sync_interval`.
      await workTakes(500);
      const older = await nats.copyStreams();
      const copiedMs = Date.now();
      await runJob();
      await runJob();
      await growsOld('the copy', Math.max(0, copiedMs + AGE_MS - Date.now()));
      const before = await logins();
      await nats.stop();
      await nats.restoreStreams(older);
      await also();
      await nats.again();
      await master.waitUntilReady();
      await runJob();
      await runJob();

      const ran = (await readFile(ranFile, 'utf8')).split('\n').filter((line) => line !== '');
      for (const token of tokens) {
        const runs = ran.filter((line) => line === token).length;
        expect(runs, `runs of ${token}`).toBe(MINIONS.length);
      }
      // A restarted worker counts from 0.
      const since = also === killServices ? 0 : before;
      expect((await logins()) - since).toBeLessThanOrEqual(LOGINS_MAX);
      await expectCountedOnce();
    },
    240_000,
  );

  /** A command that leaves a line per run; both minions answer it. */
  async function runJob(): Promise<void> {
    const token = `token-${tokens.length}-x`;
    tokens.push(token);
    const args = ['*', 'cmd.run', `echo ${token} >> ${ranFile}; echo ${token}`];
    const { stdout, stderr } = await master.brine('salt', [
      ...args,
      ...['--static', '--out', 'json', '-t', '30'],
    ]);
    const answers = JSON.parse(stdout.trim() === '' ? '{}' : stdout) as Record<string, string>;
    const wanted = Object.fromEntries(MINIONS.map((id) => [id, token]));
    if (Object.keys(answers).length < MINIONS.length) expect.fail(`${stderr}\n${await why()}`);
    expect(answers, stderr).toEqual(wanted);
  }

  /** What the master knows of those that did not answer the last job. */
  async function why(): Promise<string> {
    const { rows } = await pool.query<{ jid: string }>(
      `SELECT jid FROM brine.jobs WHERE 'cmd.run' = ANY(fun) ORDER BY jid DESC LIMIT 1`,
    );
    const { stdout, stderr } = await master.brine('run', ['jobs.why', rows[0]?.jid ?? '']);
    return `${rows[0]?.jid}: ${stdout}${stderr}`;
  }

  async function killServices(): Promise<void> {
    for (const { pid } of await master.services()) {
      if (pid !== undefined) process.kill(pid, 'SIGKILL');
    }
  }

  async function expectCountedOnce(): Promise<void> {
    const counted = async (): Promise<unknown> => {
      const { rows } = await pool.query<{ jobs: number; returns: number }>(
        `SELECT (SELECT count(*)::integer FROM brine.jobs WHERE 'cmd.run' = ANY(fun)) AS jobs,
          (SELECT count(*)::integer FROM brine.returns WHERE fun = 'cmd.run') AS returns`,
      );
      const told = await sum('salt_function_responses_total', 'function="cmd.run"');
      return { ...rows[0], told };
    };
    const areAll = async (): Promise<void> => {
      const returns = tokens.length * MINIONS.length;
      const wanted = { jobs: tokens.length, returns, told: returns };
      await expect.poll(counted, { timeout: 30_000 }).toEqual(wanted);
    };
    await areAll();
    // What is delivered once more comes before the next job.
    await runJob();
    await areAll();
  }

  function logins(): Promise<number> {
    return sum('salt_auth_attempts_total', '');
  }

  async function sum(name: string, label: string): Promise<number> {
    const answer = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
    return (await answer.text())
      .split('\n')
      .filter((line) => line.startsWith(`${name}{`) && line.includes(label))
      .reduce((total, line) => total + Number(line.split(' ').at(-1)), 0);
  }
});
