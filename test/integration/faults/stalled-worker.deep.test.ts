import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkLedger } from '@brine/ledger-check';
import { type JobResult, Swarm } from '@brine/swarm';
import { BrineMaster } from '@brine/testing';
import { faultLasts, loadPauses } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BreakablePostgres } from './breakable-postgres.ts';

const MINIONS = 60;
const PREFIX = 'stalled-';
const STALL_MS = 30_000;
const BLOCKS = fileURLToPath(new URL('blocks-on-signal.mjs', import.meta.url));

describe('a worker whose event loop is blocked for 30 s under load', () => {
  let postgres: BreakablePostgres;
  let master: BrineMaster;
  let swarm: Swarm;
  let log: string;

  beforeAll(async () => {
    postgres = await BreakablePostgres.start();
    const brine = { workers: 3, postgres: { url: postgres.url } };
    const env = { NODE_OPTIONS: `--import=${BLOCKS}` };
    master = await BrineMaster.start({ brine }, { env });
    log = join(master.sandbox.dir, 'swarm.jsonl');
    swarm = await Swarm.start({
      retPort: master.home.retPort,
      minions: MINIONS,
      idPrefix: PREFIX,
      keyPairs: 4,
      pkiDir: master.home.pkiDir,
      log,
    });
    await swarm.connect();
  }, 600_000);
  afterAll(async () => {
    await swarm?.close();
    await master?.close();
    await postgres?.[Symbol.asyncDispose]();
  });

  async function workers() {
    const services = await master.services();
    return services.filter(({ name }) => name.startsWith('worker-pool'));
  }

  /** When the process of a service was begun, ms since the epoch. */
  function begunMs(service: string | undefined): number {
    const path = join(master.home.cacheDir, 'brine', 'services.json');
    const { services } = JSON.parse(readFileSync(path, 'utf8')) as {
      services: readonly { readonly name: string; readonly startedAt?: string }[];
    };
    return Date.parse(services.find(({ name }) => name === service)?.startedAt ?? '');
  }

  /** Jobs to all, one after the other, until it is over. */
  async function jobsUntil(over: Promise<unknown>): Promise<JobResult[]> {
    const jobs: JobResult[] = [];
    let isOver = false;
    void over.then(() => (isOver = true));
    while (!isOver || jobs.length < 2) {
      const { cacheDir: cachedir } = master.home;
      const target = `${PREFIX}*`;
      jobs.push(await swarm.publish({ cachedir, target, waitMs: 60_000, sends: 3 }));
    }
    return jobs;
  }

  /** Nothing is lost and all is on the books; prints what it cost. */
  async function judge(what: string, jobs: readonly JobResult[]): Promise<void> {
    for (const job of jobs) {
      const all = { targeted: MINIONS, reached: MINIONS, acknowledged: MINIONS };
      expect(job).toMatchObject({ ...all, lost: 0 });
    }
    await expect
      .poll(async () => (await checkLedger({ databaseUrl: postgres.url, logs: [log] })).ok, {
        timeout: 60_000,
        interval: 1_000,
      })
      .toBe(true);
    const most = (read: (job: JobResult) => number): number =>
      Math.round(Math.max(...jobs.map(read)));
    const resends = jobs.reduce((sum, job) => sum + job.resends, 0);
    process.stdout.write(
      `${what}: ${jobs.length} jobs, ${jobs.length * MINIONS} returns, none lost; ` +
        `${resends} sent again, longest publish ${most(({ replyMs }) => replyMs)} ms, ` +
        `longest job ${most(({ lastAckMs }) => lastAckMs)} ms\n`,
    );
  }

  it('stopped, and going on: it costs no return and no job', async () => {
    const [stopped] = await workers();
    process.kill(stopped?.pid ?? NaN, 'SIGSTOP');
    const over = faultLasts(STALL_MS).then(() => process.kill(stopped?.pid ?? NaN, 'SIGCONT'));
    await judge('stopped for 30 s', await jobsUntil(over));
  }, 300_000);

  it('blocked: it is ended and replaced, and costs no return and no job', async () => {
    const before = await workers();
    const blocked = before.at(-1);
    process.kill(blocked?.pid ?? NaN, 'SIGWINCH');
    const [blockedAt, blockedMs] = [performance.now(), Date.now()];
    let replacedMs = Infinity;
    const replaced = expect
      .poll(
        async () => {
          const now = (await workers()).find(({ name }) => name === blocked?.name);
          const isNew = now?.ready === true && now.pid !== blocked?.pid;
          if (isNew) replacedMs = Math.min(replacedMs, performance.now() - blockedAt);
          return isNew;
        },
        { timeout: 120_000, interval: 200 },
      )
      .toBe(true);
    await judge('blocked until it was replaced', await jobsUntil(replaced));
    expect(await master.log()).toContain('the event loop is blocked, ending this process');
    // How long a process needs to load is a matter of what else the machine does.
    const ofBegin = begunMs(blocked?.name) - blockedMs;
    expect(ofBegin).toBeLessThan(10_000);
    process.stdout.write(
      `blocked: another begun after ${ofBegin} ms, serves after ${Math.round(replacedMs)} ms\n`,
    );
    const others = before.filter(({ name }) => name !== blocked?.name);
    expect(await workers()).toEqual(expect.arrayContaining([...others]));
  }, 300_000);

  it('killed: it is replaced, and costs no return and no job', async () => {
    const [killed] = await workers();
    process.kill(killed?.pid ?? NaN, 'SIGKILL');
    await judge('killed', await jobsUntil(loadPauses(5_000)));
  }, 300_000);
});
