import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { minionId, Swarm } from '@brine/swarm';
import { BrineMaster } from '@brine/testing';
import { BRINE } from '@brine/testing/checkouts';
import { type NatsCluster, startNatsCluster } from '@brine/testing/nodes';
import { faultLasts, until } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const MINIONS = 200;
const WIDTH = 20;
const PREFIX = 'batch-';
/** As much as three servers of the test have room for. */
const STREAM_BYTES = 512 * 1024 ** 2;
/** How long each minion runs the job. */
const RUNS_MS = 1_500;
/** Each fault, and the end, have this long at most. */
const WITHIN_MS = 240_000;

interface Line {
  readonly e: string;
  readonly jid: string;
  readonly id: string;
  readonly try?: number;
  /** Unix ms. */
  readonly t: number;
}

interface Status {
  readonly jid: string;
  readonly fun: string;
  readonly total: number;
  readonly completed: number;
  readonly active: number;
  readonly pending: number;
  readonly failed: number;
  readonly halted: boolean;
  readonly worker: string;
}

describe('a batch of 200 minions while its parts are killed in turn', () => {
  let nats: NatsCluster;
  let master: BrineMaster;
  let swarm: Swarm;
  let log: string;

  beforeAll(async () => {
    nats = await startNatsCluster();
    master = await BrineMaster.start(
      { timeout: 60, brine: { runners: 3, stream_replicas: 3, stream_bytes: STREAM_BYTES } },
      { env: { NATS_URL: nats.url, BRINE_NATS_CERTIFICATES: nats.certificates } },
    );
    log = join(master.sandbox.dir, 'swarm.jsonl');
    swarm = await Swarm.start({
      retPort: master.home.retPort,
      minions: MINIONS,
      idPrefix: PREFIX,
      keyPairs: 4,
      pkiDir: master.home.pkiDir,
      behaviours: [{ share: 1, delayMs: RUNS_MS }],
      log,
    });
    await swarm.connect();
  }, 600_000);
  afterAll(async () => {
    await swarm?.close();
    await master?.close();
    await nats?.close();
  });

  /** Every answer of `batch.status`, as far as one came. */
  const seen: Status[] = [];

  async function runner<T>(...args: readonly string[]): Promise<T | undefined> {
    const { code, stdout } = await master.brine('run', [...args, '--out', 'json']);
    if (code !== 0 || stdout.trim() === '') return undefined;
    return JSON.parse(stdout) as T;
  }

  async function statusOf(jid: string): Promise<Status | undefined> {
    const status = await runner<Status | string>('batch.status', jid).catch(() => undefined);
    if (status === undefined || status === null || typeof status === 'string') return undefined;
    seen.push(status);
    return status;
  }

  /** Waits until so many have returned. */
  async function completed(jid: string, count: number): Promise<Status> {
    let last: Status | undefined;
    await until(
      `${count} minions have returned`,
      async () => {
        last = (await statusOf(jid)) ?? last;
        return (last?.completed ?? 0) >= count;
      },
      { withinMs: WITHIN_MS },
    );
    if (last === undefined) throw new Error('no status');
    return last;
  }

  /** The lines of the minions' own log about the job. */
  async function lines(jid: string): Promise<readonly Line[]> {
    const text = await readFile(log, 'utf8');
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line)
      .filter((line) => line.jid === jid);
  }

  it('each minion runs once, the width is never exceeded, and the status is true', async () => {
    const args = [BRINE, 'salt', '-c', master.home.configDir, '-b', '10%'];
    const client = spawn(process.execPath, [...args, `${PREFIX}*`, 'test.ping', '-t', '60'], {
      env: master.sandbox.env(),
      stdio: 'ignore',
    });
    let jid = '';
    await until(
      'the batch is listed, with minions',
      async () => {
        const [batch] = (await runner<Status[]>('batch.list_active')) ?? [];
        jid = batch?.jid ?? '';
        return (batch?.active ?? 0) > 0;
      },
      { withinMs: WITHIN_MS },
    );

    client.kill('SIGKILL');
    const { worker } = await completed(jid, 40);

    process.kill(Number(worker.split('-')[0]), 'SIGKILL');
    const later = await completed(jid, 90);
    expect(later.worker).not.toBe(worker);

    await nats.nodes[0]?.kill();
    await completed(jid, 140);
    await nats.nodes[0]?.start();

    const end = await completed(jid, MINIONS);
    expect(end).toMatchObject({ total: MINIONS, failed: 0, pending: 0, active: 0, halted: false });

    const said = await lines(jid);
    const first = said.filter((line) => line.e === 'sent' && line.try === 1);
    const all = Array.from({ length: MINIONS }, (_, index) => minionId(PREFIX, index));
    expect(first.map(({ id }) => id).sort()).toEqual(all);
    expect(widest(first)).toBeLessThanOrEqual(WIDTH);
    for (const status of seen) {
      const { total, active, pending, failed } = status;
      expect(status).toMatchObject({ jid, fun: 'test.ping', total: MINIONS });
      expect(status.completed + active + pending + failed).toBe(total);
      expect(active).toBeLessThanOrEqual(WIDTH);
    }
    const counts = seen.map((status) => status.completed);
    expect(counts).toEqual([...counts].sort((a, b) => a - b));
    const stored = await runner<object>('jobs.lookup_jid', jid);
    expect(Object.keys(stored ?? {})).toHaveLength(MINIONS);
    process.stdout.write(
      `batch: ${first.length} minions, width ${widest(first)} of ${WIDTH}, ` +
        `${seen.length} looks, ${said.filter(({ e }) => e === 'again').length} sent again\n`,
    );
  }, 900_000);

  it('a runner whose worker is killed is told to have failed, long before it would end', async () => {
    const began = Date.now();
    const running = master.brine('run', ['test.sleep', '120']);
    const tag = ['--tag', 'salt/run/*/new'];
    await until('it has begun', async () => {
      const { stdout } = await master.brine('events', ['--no-follow', '--json', ...tag]);
      return stdout.includes('test.sleep');
    });
    let isOver = false;
    void running.finally(() => (isOver = true));
    const pids = (await master.services())
      .filter(({ name }) => name.startsWith('runner-pool'))
      .map(({ pid }) => pid);
    // Which of them has it is not known from outside.
    for (const pid of pids) {
      if (isOver) break;
      process.kill(Number(pid), 'SIGKILL');
      await faultLasts(14_000);
    }
    const { code, stdout } = await running;
    expect(stdout).toContain('The process that ran this is gone');
    expect(code).toBe(1);
    process.stdout.write(`the runner of 120 s is told of after ${Date.now() - began} ms\n`);
  }, 200_000);
});

/** Most minions that ran at one time: each for so long before it sent its return. */
function widest(sent: readonly Line[]): number {
  const turns = sent.flatMap(({ t }) => [
    { atMs: t - RUNS_MS, by: 1 },
    { atMs: t, by: -1 },
  ]);
  turns.sort((a, b) => a.atMs - b.atMs || a.by - b.by);
  let [running, most] = [0, 0];
  for (const { by } of turns) {
    running += by;
    most = Math.max(most, running);
  }
  return most;
}
