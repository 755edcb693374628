import type { Bus } from '@brine/bus';
import { EventWriter } from '@brine/bus/events';
import { PublicationWriter } from '@brine/bus/jobs';
import { ask } from '@brine/bus/rpc';
import { type Jid, type Job, jobReturnTag } from '@brine/job';
import { JobCache } from '@brine/job-cache';
import { Metrics } from '@brine/service';
import { createLog } from '@brine/telemetry';
import {
  endPool,
  makeDatabase,
  returnLoad,
  startNats,
  type TestDatabase,
  type TestNats,
} from '@brine/testing';
import { intOf, isMap, mapOf, pack, type SaltMap, type SaltValue } from '@brine/wire';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { Returner } from './start.ts';

const WAIT = { timeout: 60_000 };

let nats: TestNats;
let database: TestDatabase;
let pool: pg.Pool;
let worker: Bus;
let returner: Returner;
let stop: () => Promise<void>;
let jobs = 0;

beforeAll(async () => {
  [nats, database] = await Promise.all([startNats(), makeDatabase()]);
  worker = await nats.connect('worker-pool');
  pool = new pg.Pool({ connectionString: database.url, max: 2 });
}, 120_000);

afterAll(async () => {
  await endPool(pool);
  await Promise.all([nats.close(), database.drop()]);
});

async function start(): Promise<void> {
  const stopping = new AbortController();
  const bus = await nats.connect('job-cache-returner');
  const started = new Returner({
    bus,
    databaseUrl: database.url,
    keepMs: 0,
    log: createLog({ service: 'test', level: 'quiet' }),
    telemetry: { recordSpan: () => undefined },
    metrics: new Metrics(),
    signal: stopping.signal,
  });
  returner = started;
  stop = async () => {
    stopping.abort();
    await started.close();
    await bus.close();
  };
  await expect.poll(() => started.ready, WAIT).toBe(true);
}

beforeEach(start);
afterEach(() => stop());

function newJid(): Jid {
  return `20261122110000${String((jobs += 1)).padStart(6, '0')}` as Jid;
}

const TABLES = ['jobs', 'returns', 'sightings', 'log_ins', 'audit', 'durable'] as const;

/** Until {@link mend}, PostgreSQL refuses each row that has "poison" in it, with this SQLSTATE. */
async function poison(state: string): Promise<void> {
  await pool.query(`
    CREATE OR REPLACE FUNCTION public.poison() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      -- The request of the job that can not be sent again is poison, its job is not.
      IF (to_jsonb(NEW) - CASE WHEN TG_TABLE_NAME LIKE 'jobs%' THEN 'request_id' ELSE '' END)::text
        LIKE '%poison%' THEN
        RAISE EXCEPTION 'injected' USING ERRCODE = '${state}';
      END IF;
      RETURN NEW;
    END $$`);
}

async function mend(): Promise<void> {
  await pool.query(`CREATE OR REPLACE FUNCTION public.poison() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RETURN NEW; END $$`);
}

beforeAll(async () => {
  const cache = await JobCache.connect(database.url);
  await cache.close();
  await mend();
  for (const table of TABLES) {
    await pool.query(`CREATE TRIGGER poison BEFORE INSERT ON brine.${table}
      FOR EACH ROW EXECUTE FUNCTION public.poison()`);
  }
});

afterEach(async () => {
  await mend();
  await pool.query('DELETE FROM brine.quarantine');
});

function jobOf(jid: string, marks: Partial<Job> = {}): Job {
  const load = { jid, fun: 'test.ping', arg: [], tgt: '*', tgt_type: 'glob', user: 'u' };
  return {
    jid,
    publication: pack(mapOf({ jid })),
    load: pack(mapOf(load)),
    principal: 'root key',
    user: 'u',
    fun: 'test.ping',
    tgt: '*',
    tgtType: 'glob',
    minions: ['good', 'bad'],
    missing: [],
    publishedAt: Date.now(),
    deadlineAt: Date.now() + 3_600_000,
    notAfter: Date.now() + 3_600_000,
    hidden: false,
    host: 'here',
    requestId: `request-${jid}`,
    ...marks,
  };
}

async function appendReturn(jid: Jid, id: string): Promise<void> {
  const writer = new EventWriter(worker);
  const body = returnLoad(jid, id, true);
  await writer.append({ kind: 'ret', tag: jobReturnTag(jid, id), body, msgId: `${jid}:${id}` });
}

function auditRow(writer: string, n: number): object {
  const body = JSON.stringify({ at: new Date().toISOString(), kind: 'publish', outcome: 'done' });
  return { writer, n, body, before: '', seal: `${writer} ${n}` };
}

/** Appends rows of each kind that the table refuses, between others that it takes. */
async function append(jids: Record<'good' | 'bad' | 'durable', Jid>): Promise<void> {
  const writer = new EventWriter(worker);
  const publications = new PublicationWriter(worker);
  const job = (jid: Jid, marks: Partial<Job>): Promise<unknown> =>
    publications.appendJob(jobOf(jid, marks), {});
  const durable = { durable: true, requestId: `poison ${jids.durable}` };
  await Promise.all([
    job(jids.good, {}),
    job(jids.bad, { user: 'poison' }),
    job(jids.durable, durable),
  ]);
  const event = (kind: 'sighting' | 'auth' | 'audit', body: Buffer): Promise<unknown> =>
    writer.append({ kind, tag: `brine/${kind}`, body });
  const logIn = (id: string) => pack(mapOf({ id, act: 'accept', result: true }));
  const seen = (ids: string[]) => pack(mapOf({ jid: jids.good, ids, kind: 'sent_again' }));
  await Promise.all([
    ...['a', 'poison', 'b', 'c'].map((id) => appendReturn(jids.good, id)),
    ...['in', `poison-in`, 'in-too'].map((id) => event('auth', logIn(id + jobs))),
    event('sighting', seen(['s1', 's2', 'poison-s', 's3'])),
    event('sighting', seen(['s4'])),
    event(
      'audit',
      Buffer.from(
        JSON.stringify([
          auditRow(`w${jobs}`, 1),
          auditRow(`poison${jobs}`, 1),
          auditRow(`w${jobs}`, 2),
        ]),
      ),
    ),
  ]);
}

async function names(text: string, values: unknown[]): Promise<unknown[]> {
  return (await pool.query<{ name: string }>(text, values)).rows.map(({ name }) => name);
}

/** The stored rows of all kinds, by short names. */
async function stored(jids: Record<'good' | 'bad' | 'durable', Jid>): Promise<unknown[]> {
  return [
    ...(await names('SELECT jid AS name FROM brine.jobs WHERE jid = ANY($1) ORDER BY 1', [
      Object.values(jids),
    ])),
    ...(await names('SELECT jid AS name FROM brine.durable WHERE jid = $1', [jids.durable])),
    ...(await names('SELECT id AS name FROM brine.returns WHERE jid = $1 ORDER BY 1', [jids.good])),
    ...(await names(
      `SELECT id AS name FROM brine.sightings WHERE jid = $1 AND kind <> 'refused' ORDER BY 1`,
      [jids.good],
    )),
    ...(await names(`SELECT id AS name FROM brine.log_ins WHERE id LIKE '%' || $1 ORDER BY 1`, [
      jobs,
    ])),
    ...(await names(
      `SELECT writer || ' ' || n AS name FROM brine.audit WHERE writer LIKE '%' || $1 ORDER BY 1`,
      [jobs],
    )),
  ];
}

/** What the numbers of jobs have of the quarantine. */
async function counted(question: Record<string, string>): Promise<SaltValue | undefined> {
  const answer = (await ask(worker, 'jobs.page_numbers', mapOf(question), 10_000)) as SaltMap;
  return answer.get('quarantined');
}

async function quarantine(question: Record<string, never> = {}): Promise<SaltMap[]> {
  const answer = (await ask(worker, 'jobs.quarantine', mapOf(question), 10_000)) as SaltMap;
  return (answer.get('rows') as SaltMap[]).filter(isMap);
}

test.each([
  '21000',
  '22021',
  '22P02',
  '22003',
  '23514',
  '42703',
  '42501',
  '54000',
  '0A000',
  'P0001',
])(
  'a row refused with %s goes to quarantine, others are stored; mended, it is tried again',
  async (state) => {
    await poison(state);
    const jids = { good: newJid(), bad: newJid(), durable: newJid() };
    await append(jids);
    await expect.poll(async () => (await quarantine()).length, WAIT).toBe(6);
    expect(await counted({})).toBe(6);
    expect(await counted({ principal: 'anne' })).toBeUndefined();
    const good = [jids.good, jids.durable, 'a', 'b', 'c', 's1', 's2', 's3', 's4'];
    const [ins, rows] = [[`in${jobs}`, `in-too${jobs}`].sort(), [`w${jobs} 1`, `w${jobs} 2`]];
    await expect.poll(() => stored(jids), WAIT).toEqual([...good, ...ins, ...rows]);
    expect(returner.ready).toBe(true);
    for (const row of await quarantine()) {
      expect(Object.fromEntries(row)).toMatchObject({ state, reason: 'injected', tries: 0 });
      expect(row.get('size')).toBeGreaterThan(10);
      expect(row.get('seq')).toBeGreaterThan(0);
    }
    const kinds = (await quarantine()).map((row) => row.get('kind'));
    expect(kinds.sort()).toEqual(['durable', 'job', 'return', 'seen', 'seen', 'seen']);

    // Not mended yet: nothing goes, and it is seen that it was tried.
    expect(await retryAll()).toEqual({ stored: 0, refused: 6 });
    expect((await quarantine()).map((row) => row.get('tries'))).toEqual([1, 1, 1, 1, 1, 1]);
    // Another process reads on, and has them too.
    await stop();
    await start();
    await mend();
    expect(await retryAll()).toEqual({ stored: 6, refused: 0 });
    expect(await quarantine()).toEqual([]);
    expect(await stored(jids)).toEqual([
      ...[jids.good, jids.bad, jids.durable].sort(),
      jids.durable,
      ...['a', 'b', 'c', 'poison', 'poison-s', 's1', 's2', 's3', 's4'],
      ...[`in${jobs}`, `in-too${jobs}`, `poison-in${jobs}`].sort(),
      ...[`poison${jobs} 1`, `w${jobs} 1`, `w${jobs} 2`],
    ]);
  },
  120_000,
);

/** Tries all rows again; a busy machine answers in several parts. */
async function retryAll(): Promise<{ stored: number; refused: number }> {
  const sum = { stored: 0, refused: 0 };
  for (let after: SaltValue = null; ;) {
    const asked = mapOf({ all: true, after: after ?? undefined });
    const part = await ask(worker, 'jobs.quarantine_retry', asked, 20_000);
    if (!isMap(part)) throw new Error('no answer');
    sum.stored += intOf(part, 'stored') ?? 0;
    sum.refused += intOf(part, 'refused') ?? 0;
    after = part.get('next') ?? null;
    if (after === null) return sum;
  }
}

test('two events on record with NUL and half a character stop no taker, nor does a restart', async () => {
  const writer = new EventWriter(worker);
  const rows = ['\0', '\ud800'].map((odd) => ({ ...auditRow('hostile', 1), writer: `odd ${odd}` }));
  for (const row of rows) {
    const body = Buffer.from(JSON.stringify([row]));
    await writer.append({ kind: 'audit', tag: 'brine/audit', body });
  }
  const jid = newJid();
  await appendReturn(jid, 'm1');
  const has = async (id: string): Promise<boolean> =>
    (await names('SELECT id AS name FROM brine.returns WHERE jid = $1', [jid])).includes(id);
  await expect.poll(() => has('m1'), WAIT).toBe(true);
  await expect.poll(async () => (await quarantine()).length, WAIT).toBe(2);
  await stop();
  await start();
  await appendReturn(jid, 'm2');
  await expect.poll(() => has('m2'), WAIT).toBe(true);
  const drop = await ask(worker, 'jobs.quarantine_drop', mapOf({ state: '22' }), 10_000);
  expect(drop).toEqual(mapOf({ dropped: 2 }));
  expect(await quarantine()).toEqual([]);
});

test('a message that is no event is kept as it stands, tried again and dropped', async () => {
  worker.connection.publish('brine.events.ret', 'no tag');
  await expect.poll(async () => (await quarantine()).length, WAIT).toBe(1);
  const [row] = await quarantine();
  expect(row?.get('kind')).toBe('stray');
  expect(row?.get('subject')).toBe('brine.events.ret');
  expect(row?.get('reason')).toBe('no event of ours');
  const filter = mapOf({ kind: 'stray' });
  expect(await ask(worker, 'jobs.quarantine_retry', filter, 10_000)).toEqual(
    mapOf({ stored: 0, refused: 1, next: null }),
  );
  const nothing = ask(worker, 'jobs.quarantine_drop', mapOf({}), 10_000);
  await expect(nothing).rejects.toThrow('say which rows');
  const number = row?.get('number') ?? null;
  const dropped = await ask(worker, 'jobs.quarantine_drop', mapOf({ numbers: [number] }), 10_000);
  expect(dropped).toEqual(mapOf({ dropped: 1 }));
});
