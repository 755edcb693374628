import { execFile } from 'node:child_process';
import { copyFile, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runningPostgresUrl } from '@brine/postgres-server';
import { Swarm } from '@brine/swarm';
import { BrineMaster } from '@brine/testing';
import { BRINE, brineEnv } from '@brine/testing/checkouts';
import { until } from '@brine/testing/waits';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const MINIONS = Number(process.env['BRINE_BACKUP_MINIONS'] ?? 200);
/** Jobs that are done before the backup begins. */
const JOBS_BEFORE = 10;
const PREFIX = 'kept-';
const STORE = 'job-cache-returner';
const JOB_MS = 30_000;
const LOAD_MS = 10_000;

/** What the rig wrote down of one return. */
interface Acked {
  readonly jid: string;
  readonly id: string;
}

describe('a host is lost, and its backup is put back on another', () => {
  let first: BrineMaster;
  let second: BrineMaster | undefined;
  let swarm: Swarm;
  let file: string;
  let log: string;
  let isLost = false;
  let publishing: Promise<void> | undefined;

  beforeAll(async () => {
    first = await BrineMaster.start({ brine: { workers: 2 } });
    file = join(first.sandbox.dir, 'brine.tar.gz');
    log = join(first.sandbox.dir, 'swarm.jsonl');
    swarm = await Swarm.start({
      retPort: first.home.retPort,
      minions: MINIONS,
      processes: 2,
      idPrefix: PREFIX,
      keyPairs: 4,
      pkiDir: first.home.pkiDir,
      log,
      reconnectMs: [200, 1_000],
    });
    await swarm.connect();
  }, 300_000);
  afterAll(async () => {
    isLost = true;
    await publishing;
    await swarm?.close();
    await second?.close();
    await first?.close();
  });

  const publish = (waitMs = JOB_MS) =>
    swarm.publish({
      cachedir: (second ?? first).home.cacheDir,
      target: `${PREFIX}*`,
      fun: 'test.echo',
      arg: ['kept'],
      waitMs,
    });

  it('the ledger of all jobs before the mark is the same, and the minions go on', async () => {
    const done: string[] = [];
    for (let job = 0; job < JOBS_BEFORE; job += 1) {
      const result = await publish();
      expect(result.acknowledged).toBe(MINIONS);
      done.push(result.jid ?? '');
    }
    await until(
      'the store has them',
      async () => (await ledger(first, done)).length === JOBS_BEFORE * MINIONS,
    );
    const before = await ledger(first, done);

    // From here on jobs and returns come while the backup is made.
    publishing = (async () => {
      while (!isLost) await publish(LOAD_MS).catch(() => undefined); // The host is lost under one.
    })();
    await until('jobs under way', async () => (await acked(log)).length > done.length * MINIONS);
    // What is acknowledged from now on is in the stream only: the store does not read.
    const { pid } = (await first.services()).find(({ name }) => name === STORE) ?? {};
    process.kill(pid ?? NaN, 'SIGSTOP');
    const stored = (await returned(first)).length;
    await until('returns in the stream only', async () => {
      return (await acked(log)).length >= stored + MINIONS;
    });
    const upToMark = join(first.sandbox.dir, 'mark.jsonl');
    await copyFile(log, upToMark);
    const made = await first.brine('backup', [file]);
    expect(made.code, made.stderr).toBe(0);
    process.stdout.write(`${made.stdout}`);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const inTables = (await returned(first)).length;
    // It is kept where the backups are not.
    await copyFile(join(first.home.pkiDir, 'backup.key'), keyOf());

    isLost = true;
    process.kill(-(first.pid ?? NaN), 'SIGKILL');
    await publishing;
    for (const path of [first.home.pkiDir, first.home.cacheDir]) {
      await rm(path, { recursive: true, force: true });
    }

    second = await BrineMaster.start(
      {
        // The new host has the address of the lost one.
        publish_port: first.home.publishPort,
        ret_port: first.home.retPort,
        brine: { workers: 2 },
      },
      { firstStart: true, onHome: (home) => restore(home.configDir) },
    );
    const of = second;
    const wanted = await acked(upToMark);
    expect(wanted.length).toBeGreaterThan(JOBS_BEFORE * MINIONS);
    await until('the store has what was acknowledged before the mark', async () => {
      const stored = new Set((await returned(of)).map(({ jid, id }) => `${jid} ${id}`));
      return wanted.every(({ jid, id }) => stored.has(`${jid} ${id}`));
    });
    expect(await ledger(second, done)).toEqual(before);
    expect(await twice(second)).toEqual([]);
    process.stdout.write(
      `${before.length} of the ledger, ${wanted.length} returns before the mark, ` +
        `${inTables} of them in PostgreSQL when the backup was made\n`,
    );

    const backAt = performance.now();
    await until('the minions are back', async () => (await publish()).acknowledged === MINIONS, {
      withinMs: 90_000,
    });
    process.stdout.write(`all answer: ${Math.round(performance.now() - backAt)} ms\n`);
    const keys = await second.brine('key', ['-l', 'acc', '--out', 'json']);
    expect(JSON.parse(keys.stdout)).toMatchObject({ minions: { length: MINIONS } });
  }, 600_000);

  const keyOf = (): string => join(first.sandbox.dir, 'backup.key');

  async function restore(configDir: string): Promise<void> {
    const args = [BRINE, 'restore', file, '-c', configDir, '--key-file', keyOf()];
    const startedAt = performance.now();
    const { stdout } = await run(process.execPath, args, { env: brineEnv(first.sandbox) });
    process.stdout.write(`${stdout}restore: ${Math.round(performance.now() - startedAt)} ms\n`);
  }
});

async function acked(log: string): Promise<Acked[]> {
  const lines = (await readFile(log, 'utf8')).split('\n').slice(0, -1);
  return lines
    .map((line) => JSON.parse(line) as Acked & { readonly e: string })
    .filter(({ e }) => e === 'acked');
}

async function ask<Row extends pg.QueryResultRow>(
  master: BrineMaster,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const url = runningPostgresUrl(join(master.home.cacheDir, 'brine', 'postgres'));
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text, [...values])).rows;
  } finally {
    await client.end();
  }
}

/** Each minion of these jobs with its state. */
function ledger(master: BrineMaster, jids: readonly string[]): Promise<object[]> {
  return ask(
    master,
    `SELECT jid, id, state, retcode, failed, received_at, published_at, deadline_at
     FROM brine.ledger WHERE jid = ANY($1) AND state = 'returned' ORDER BY jid, id`,
    [jids],
  );
}

function returned(master: BrineMaster): Promise<Acked[]> {
  return ask(master, 'SELECT jid, id FROM brine.returns');
}

/** A return that came again after the restore is no second one. */
function twice(master: BrineMaster): Promise<object[]> {
  return ask(master, "SELECT jid, id FROM brine.evidence WHERE fun = 'test.echo'");
}
