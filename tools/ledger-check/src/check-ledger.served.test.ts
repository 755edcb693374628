import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JobCache, type Ledger } from '@brine/job-cache';
import { endPool, jobRow, makeDatabase, returnRow, type TestDatabase } from '@brine/testing';
import { mapOf, pack, type SaltValue } from '@brine/wire';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { checkLedger } from './check-ledger.ts';
import { drawReport } from './draw-report.ts';
import type { CheckOptions, LedgerReport } from './index.ts';

const IDS = ['sim-00000', 'sim-00001', 'sim-00002'];

let database: TestDatabase;
let cache: JobCache;
let pool: pg.Pool;
let dir: string;
let number = 0;
/** The job of the test, and the one before it. */
let jid = '';
let before = '';
let log: object[] = [];

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'brine-ledger-'));
  database = await makeDatabase();
  cache = await JobCache.connect(database.url);
  pool = new pg.Pool({ connectionString: database.url, max: 2 });
});
afterAll(async () => {
  await cache.close();
  await endPool(pool);
  await database.drop();
  await rm(dir, { recursive: true });
});

/** Three minions were asked, two answered, and the books say so. */
beforeEach(async () => {
  before = jid;
  number += 1;
  jid = `2026112010${String(number).padStart(10, '0')}`;
  await save(jid, 'token-a', IDS.slice(0, 2));
  log = [
    { e: 'publishing', token: 'token-a', t: 1 },
    { e: 'published', token: 'token-a', jid, targeted: 3, t: 2 },
    { e: 'received', jid, ids: [[IDS[0], IDS[2]]], count: 3, t: 3 },
    ...answered(IDS[0] ?? ''),
    ...answered(IDS[1] ?? ''),
  ];
});

async function save(of: string, token: string, returned: readonly string[]): Promise<void> {
  const load = mapOf({
    jid: of,
    fun: 'test.ping',
    arg: [],
    tgt: '*',
    tgt_type: 'glob',
    kwargs: mapOf({ metadata: mapOf({ storm: token }) }),
  });
  await cache.saveJobs([jobRow(of, { minions: IDS, load: pack(load), seq: number })]);
  await cache.saveReturns(returned.map((id, index) => stored(of, id, true, index)));
}

function stored(of: string, id: string, value: SaltValue, index: number) {
  return returnRow(of, id, value, { seq: number * 100 + index });
}

function hash(value: SaltValue): string {
  return createHash('sha256').update(pack(value)).digest('hex').slice(0, 16);
}

function answered(id: string, value: SaltValue = true, of = jid): object[] {
  return [
    { e: 'sent', jid: of, id, hash: hash(value), try: 1, t: 4 },
    { e: 'acked', jid: of, id, t: 5 },
  ];
}

async function check(more: Partial<CheckOptions> = {}): Promise<LedgerReport> {
  const path = join(dir, `${jid}.jsonl`);
  await writeFile(path, log.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return checkLedger({ databaseUrl: database.url, logs: [path], after: before, ...more });
}

test('books that are right have no difference, and the figures are those of the run', async () => {
  const report = await check({ fresh: true });
  expect(report).toMatchObject({ ok: true, differences: [], counts: {} });
  expect(report.figures).toMatchObject({
    publishes: 1,
    published: 1,
    jobs: 1,
    targeted: 3,
    received: 3,
    sent: 2,
    acknowledged: 2,
    stored: 2,
    states: { waiting: 0, returned: 2, failed: 0, late: 0, never: 1 },
  });
  expect(drawReport(report)).toContain('no difference');
});

test('counters that are not the numbers of rows', async () => {
  const change = `UPDATE brine.counters SET value = value + $1 WHERE (metric, lane) =
    (SELECT metric, lane FROM brine.counters WHERE metric = 'returns' LIMIT 1)`;
  await pool.query(change, [1]);
  const detail = '4 returns are stored, 5 counted';
  const { differences } = await check({ fresh: true });
  expect(differences).toEqual([{ kind: 'counters', jid: '', detail }]);
  await pool.query(change, [-1]);
});

test('in a tree a client knows no minions of its job above, and below nothing of the job', async () => {
  const other = `2026112010${String(9_000_000_000 + number)}`;
  log[1] = { e: 'published', token: 'token-a', jid, targeted: 0, t: 2 };
  log.push({ e: 'published', token: 'token-o', jid: other, targeted: 0, t: 3 });
  const kinds = async (known: CheckOptions['known']): Promise<unknown> =>
    (await check(known === undefined ? {} : { known })).differences.map(({ kind }) => kind);
  expect(await kinds(undefined)).toEqual(['job-targets', 'job-lost']);
  expect(await kinds('jobs')).toEqual(['job-lost']);
  expect(await kinds('nothing')).toEqual([]);
});

test('a return that was acknowledged and is not stored', async () => {
  log.push(...answered(IDS[2] ?? ''));
  expect((await check()).differences).toEqual([{ kind: 'return-lost', jid, id: IDS[2] }]);
});

test('a return that is stored with another content', async () => {
  await cache.saveReturns([stored(jid, IDS[2] ?? '', 'this', 9)]);
  log.push(...answered(IDS[2] ?? '', 'that'));
  const { differences, counts } = await check();
  expect(counts).toEqual({ 'return-changed': 1 });
  expect(differences[0]).toMatchObject({ jid, id: IDS[2] });
  expect(differences[0]?.detail).toBe(`counted: ${hash('this')}, sent: ${hash('that')}`);
});

test('a return that is stored and was never sent, counted or as evidence', async () => {
  await cache.saveReturns([
    stored(jid, IDS[2] ?? '', true, 8),
    stored(jid, IDS[0] ?? '', 'other', 9),
  ]);
  const { counts } = await check();
  expect(counts).toEqual({ 'return-invented': 1, 'return-changed': 1 });
});

test('returns of minions that are not in the log are no difference', async () => {
  await cache.saveReturns([stored(jid, 'real-minion', true, 9)]);
  expect(await check()).toMatchObject({ ok: true, figures: { ofOthers: 1 } });
});

test('a job whose publish was acknowledged and that is not stored', async () => {
  const lost = `${jid.slice(0, -1)}x`;
  log.push({ e: 'published', token: 'token-b', jid: lost, targeted: 3, t: 9 });
  expect((await check()).differences).toEqual([{ kind: 'job-lost', jid: lost }]);
});

test('a job that is known by a return only was lost too', async () => {
  const change = "origin = 2, load = load - 'kwargs', load_raw = NULL";
  await pool.query(`UPDATE brine.jobs SET ${change} WHERE jid = $1`, [jid]);
  expect((await check()).counts).toEqual({ 'job-lost': 1 });
});

test('returns without any job', async () => {
  await pool.query('DELETE FROM brine.jobs WHERE jid = $1', [jid]);
  expect((await check()).counts).toEqual({ 'return-without-job': 2, 'job-lost': 1 });
});

test('one request that made two jobs', async () => {
  const second = `${jid.slice(0, -1)}z`;
  await save(second, 'token-a', []);
  const { counts } = await check();
  expect(counts['job-twice']).toBeGreaterThan(0);
  await pool.query('DELETE FROM brine.jobs WHERE jid = $1', [second]);
});

test('a job with other targets than the client knows', async () => {
  log[1] = { e: 'published', token: 'token-a', jid, targeted: 4, t: 2 };
  expect((await check()).differences).toEqual([
    { kind: 'job-targets', jid, detail: 'stored 3, answered 4' },
  ]);
});

const RIGHT: Ledger = {
  targeted: 3,
  waiting: 0,
  returned: 2,
  failed: 0,
  late: 0,
  never: 1,
  unexpected: 0,
  evidence: 0,
};

test('a ledger that does not add up', async () => {
  const { counts } = await check({ ledgerOf: async () => ({ ...RIGHT, never: 0 }) });
  expect(counts).toEqual({ 'job-sum': 1, 'job-states': 1 });
});

test('a ledger that adds up, and is not what the rows say', async () => {
  const known = { ...RIGHT, returned: 1, late: 1 };
  expect((await check({ ledgerOf: async () => known })).counts).toEqual({ 'job-states': 1 });
});

test('minions that wait for a job that is closed', async () => {
  const known = { ...RIGHT, waiting: 1, never: 0 };
  expect((await check({ ledgerOf: async () => known })).counts).toEqual({ 'job-open': 1 });
});

test('a minion that ran a job twice; a receipt that it dropped is none', async () => {
  log.push({ e: 'again', jid, id: IDS[1], t: 8 });
  expect(await check()).toMatchObject({ ok: true, figures: { receivedAgain: 1 } });
  log.push({ e: 'received', jid, ids: [[IDS[1], IDS[1]]], count: 1, t: 9 });
  expect((await check()).differences).toEqual([
    { kind: 'run-twice', jid, id: IDS[1], detail: '2 times' },
  ]);
});

test('a return that PostgreSQL refused', async () => {
  await pool.query(
    `INSERT INTO brine.quarantine (kind, jid, id, incarnation, seq, sqlstate, reason, raw)
     VALUES ('return', $1, $2, 'e1', 1, '22P05', 'no such character', '\\x00')`,
    [jid, IDS[0]],
  );
  expect((await check()).differences).toEqual([
    { kind: 'return-quarantined', jid, id: IDS[0], detail: '22P05: no such character' },
  ]);
  await pool.query('DELETE FROM brine.quarantine');
});

test('a log that is cut in its last line is read, one that is broken before it is not', async () => {
  const path = join(dir, 'cut.jsonl');
  const whole = log.map((line) => `${JSON.stringify(line)}\n`).join('');
  const options = { databaseUrl: database.url, after: before, logs: [path] };
  await writeFile(path, `${whole}{"e":"acked","ji`);
  expect(await checkLedger(options)).toMatchObject({ ok: true });
  await writeFile(path, `{"e":"acked","ji\n${whole}`);
  await expect(checkLedger(options)).rejects.toThrow(`${path}:1`);
});

test('a job of which its client got the answer that there is none', async () => {
  const why = 'The master is not ready: no worker answers; the job was not published';
  log[1] = { e: 'refused', token: 'token-a', why, t: 2 };
  expect((await check()).differences).toEqual([{ kind: 'job-refused', jid, detail: why }]);
  log[1] = { e: 'refused', token: 'token-a', why: 'the job may have been published', t: 2 };
  expect(await check()).toMatchObject({ ok: true });
});

// The last one: it takes away what keeps PostgreSQL from storing a return twice.
test('a return that counts twice', async () => {
  await pool.query('ALTER TABLE brine.returns DROP CONSTRAINT returns_pkey');
  await pool.query('INSERT INTO brine.returns SELECT * FROM brine.returns WHERE jid = $1', [jid]);
  const { counts, differences } = await check();
  // Brine's own queries count both rows, which is a difference of its own.
  expect(counts).toEqual({ 'return-twice': 2, 'job-states': 1 });
  expect(differences[0]).toEqual({ kind: 'return-twice', jid, id: IDS[0] });
});
