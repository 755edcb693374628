import type { Bus } from '@brine/bus';
import { EventWriter } from '@brine/bus/events';
import { PublicationWriter, waitWritten } from '@brine/bus/jobs';
import { ask } from '@brine/bus/rpc';
import type { Jid, Job } from '@brine/job';
import { jobReturnTag } from '@brine/job';
import { Metrics } from '@brine/service';
import type { SpanRecord } from '@brine/telemetry';
import { createLog } from '@brine/telemetry';
import type { TestNats, TestPostgres } from '@brine/testing';
import { returnLoad, startNats, startPostgres } from '@brine/testing';
import { loadPauses } from '@brine/testing/waits';
import type { SaltMap } from '@brine/wire';
import { isMap, listOf, mapOf, pack } from '@brine/wire';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { Returner } from './start.ts';

let nats: TestNats;
let server: TestPostgres;
let pool: pg.Pool;
let worker: Bus;
let running: { returner: Returner; spans: SpanRecord[]; stop: () => Promise<void> }[] = [];

beforeAll(async () => {
  [nats, server] = await Promise.all([startNats(), startPostgres()]);
  worker = await nats.connect('worker-pool');
  pool = new pg.Pool({ connectionString: server.url, max: 2 });
  // A killed server breaks idle connections: that is what the tests are about.
  pool.on('error', () => undefined);
}, 120_000);

afterAll(async () => {
  await pool.end();
  await Promise.all([nats.close(), server.stop()]);
});

beforeEach(() => {
  running = [];
});

afterEach(async () => {
  await Promise.all(running.map(({ stop }) => stop()));
});

async function start(databaseUrl = server.url): Promise<(typeof running)[number]> {
  const stopping = new AbortController();
  const bus = await nats.connect('job-cache-returner');
  const spans: SpanRecord[] = [];
  const returner = new Returner({
    bus,
    databaseUrl,
    keepMs: 0,
    log: createLog({ service: 'test', level: 'quiet' }),
    telemetry: { recordSpan: (span) => void spans.push(span) },
    metrics: new Metrics(),
    signal: stopping.signal,
    ackWaitMs: 3_000,
  });
  let stopped: Promise<void> | undefined;
  const stopOnce = async (): Promise<void> => {
    stopping.abort();
    await returner.close();
    await bus.close();
  };
  const one = { returner, spans, stop: () => (stopped ??= stopOnce()) };
  running.push(one);
  return one;
}

let made = 0;

function newJid(): Jid {
  made += 1;
  return `20261120100000${String(made).padStart(6, '0')}` as Jid;
}

function jobOf(jid: string, minions: readonly string[]): Job {
  const load = pack(
    mapOf({ jid, fun: 'test.ping', arg: [], tgt: '*', tgt_type: 'glob', user: 'u' }),
  );
  return {
    jid,
    publication: pack(mapOf({ jid })),
    load,
    principal: 'root key',
    user: 'u',
    fun: 'test.ping',
    tgt: '*',
    tgtType: 'glob',
    minions,
    missing: [],
    publishedAt: Date.now(),
    deadlineAt: Date.now() + 3_600_000,
    notAfter: Date.now() + 30_000,
    hidden: false,
    host: 'here',
    requestId: `request-${jid}`,
  };
}

function appendReturn(
  writer: EventWriter,
  jid: Jid,
  id: string,
  body?: Buffer,
  traced = false,
): Promise<unknown> {
  return writer.append({
    kind: 'ret',
    tag: jobReturnTag(jid, id),
    body: body ?? returnLoad(jid, id, true),
    msgId: `ret:${jid}:${id}:x`,
    jid,
    minion: id,
    traced,
  });
}

function killServer(): void {
  try {
    process.kill(server.pid(), 'SIGKILL');
  } catch {
    // Down already, from the last kill.
  }
}

async function countReturns(jid: string): Promise<number> {
  const text = 'SELECT count(*)::integer AS count FROM brine.returns WHERE jid = $1';
  try {
    return (await pool.query<{ count: number }>(text, [jid])).rows[0]?.count ?? 0;
  } catch {
    return -1; // Away, or not migrated yet.
  }
}

test('a job is written, reported to its waiter, and answered with its returns', async () => {
  const { returner, spans } = await start();
  const jid = newJid();
  const wait = waitWritten(worker, ['store'], 10_000);
  await new PublicationWriter(worker).appendJob(jobOf(jid, ['m1', 'm2']), {
    written: wait.subject,
  });
  expect(await wait.done).toEqual({ missing: [] });
  expect(returner.ready).toBe(true);

  const waiting = await ask(worker, 'brine.jobs.outstanding', mapOf({ sinceMs: 0 }), 5_000);
  expect(waiting).toEqual([mapOf({ jid, waiting: ['m1', 'm2'] })]);
  await appendReturn(new EventWriter(worker), jid, 'm1', undefined, true);
  await expect.poll(() => countReturns(jid)).toBe(1);

  const load = await ask(worker, 'jobs.get_load', mapOf({ jid }), 5_000);
  expect(isMap(load) && load.get('Minions')).toEqual(['m1', 'm2']);
  const page = (await ask(worker, 'jobs.get_jid', mapOf({ jid }), 5_000)) as SaltMap;
  expect(page).toEqual(
    mapOf({
      returns: mapOf({ m1: mapOf({ return: true, retcode: 0, success: true }) }),
      next: null,
    }),
  );
  const job = (await ask(worker, 'jobs.job', mapOf({ jid, states: true }), 5_000)) as SaltMap;
  expect(job.get('states')).toEqual(mapOf({ m1: 'returned', m2: 'waiting' }));
  expect(Object.fromEntries(job.get('ledger') as SaltMap)).toMatchObject({
    targeted: 2,
    waiting: 1,
    returned: 1,
  });
  const question = mapOf({ searchFunction: 'nope,test.*', limit: 1 });
  const list = (await ask(worker, 'jobs.list_jobs', question, 5_000)) as SaltMap;
  expect([...(list.get('jobs') as SaltMap).keys()]).toEqual([jid]);
  const given = { id: 'm1', state: 'returned', judged: true, limit: 1 };
  const ofMinion = await ask(worker, 'jobs.page_minion_jobs', mapOf(given), 5_000);
  const [line] = listOf(ofMinion as SaltMap, 'jobs') ?? [];
  expect(Object.fromEntries(line as SaltMap)).toMatchObject({
    jid,
    fun: ['test.ping'],
    state: 'returned',
    retcode: 0,
    load: mapOf({ fun: 'test.ping', arg: [] }),
  });
  const newest = mapOf({ id: 'm1', fun: 'test.ping' });
  const last = await ask(worker, 'jobs.page_newest_return', newest, 5_000);
  expect(isMap(last) && last.get('jid')).toBe(jid);
  expect(spans.map(({ part, parentPart }) => [part, parentPart])).toEqual([
    ['store-job', 'record'],
    ['store.m1', 'worker.return.m1'],
  ]);
  // Not chosen by the worker: no span, as its other hops have none.
  await appendReturn(new EventWriter(worker), jid, 'm2');
  await expect.poll(() => countReturns(jid)).toBe(2);
  expect(spans).toHaveLength(2);
});

test('log-ins and sightings from services are stored', async () => {
  const { returner } = await start();
  const jid = newJid();
  const writer = new EventWriter(worker);
  // A return with such an old jid is dropped without its job.
  const wait = waitWritten(worker, ['store'], 10_000);
  await new PublicationWriter(worker).appendJob(jobOf(jid, ['m1', 'm2']), {
    written: wait.subject,
  });
  expect(await wait.done).toEqual({ missing: [] });
  const logIn = (id: string, act: string, result: boolean): Promise<unknown> => {
    const body = pack(mapOf({ result, act, id, pub: 'PEM' }));
    return writer.append({ kind: 'auth', tag: 'salt/auth', body, minion: id });
  };
  await logIn('in', 'accept', true);
  await logIn('waits', 'pend', true);
  await logIn('out', 'reject', false);
  await logIn('a/b', 'accept', true);
  const sighting = (map: SaltMap): Promise<unknown> =>
    writer.append({ kind: 'sighting', tag: 'brine/sighting', body: pack(map), jid });
  await sighting(mapOf({ jid, ids: [''], kind: 'expired', detail: mapOf({ publisher: 'p1' }) }));
  // Only minions say that they run; neither this nor what is no map stops the reader.
  await sighting(mapOf({ jid, ids: ['m1'], kind: 'running' }));
  await writer.append({ kind: 'sighting', tag: 'brine/sighting', body: Buffer.from('c1', 'hex') });
  const many = Array.from({ length: 12_000 }, (_, n) => `minion-${n}.example`);
  await sighting(mapOf({ jid, ids: [...many, '../x'], kind: 'sent_again' }));
  const kinds = async (): Promise<unknown[]> => {
    const text = `SELECT kind, count(*)::integer AS rows FROM brine.sightings WHERE jid = $1
      GROUP BY kind ORDER BY kind`;
    return (await pool.query<object>(text, [jid])).rows;
  };
  const expected = [
    { kind: 'expired', rows: 1 },
    { kind: 'sent_again', rows: many.length },
  ];
  await expect.poll(kinds, { timeout: 40_000 }).toEqual(expected);
  const logIns = async (): Promise<unknown[]> =>
    (await pool.query<object>('SELECT id FROM brine.log_ins')).rows;
  await expect.poll(logIns).toEqual([{ id: 'in' }]);
  // A stray is quarantined with its bytes, and counted.
  const away = async (): Promise<unknown[]> => {
    const text = `SELECT reason, encode(raw, 'hex') = 'c1' AS odd FROM brine.quarantine
      WHERE kind = 'seen' ORDER BY seq`;
    return (await pool.query<object>(text)).rows;
  };
  await expect
    .poll(away)
    .toMatchObject([
      { reason: 'a log-in without the id of a minion', odd: false },
      { reason: 'a sighting of no known kind', odd: false },
      { odd: true },
      { reason: 'a sighting of what is no minion', odd: false },
    ]);
  await expect.poll(() => returner.status).toMatchObject({ refused: 4 });
});

test('a question that lacks a field is answered with its name', async () => {
  const { returner } = await start();
  await expect.poll(() => returner.ready).toBe(true);
  const question = ask(worker, 'jobs.get_load', mapOf({}), 5_000);
  await expect(question).rejects.toThrow('the query needs a jid');
});

test('returns survive PostgreSQL being killed under load', async () => {
  const { returner } = await start();
  const jid = newJid();
  const writer = new EventWriter(worker);
  const total = 6_000;
  const pending: Promise<unknown>[] = [];
  for (let n = 0; n < total; n += 1) {
    pending.push(appendReturn(writer, jid, `m${n}`));
    if (n % 1_500 === 700) killServer();
    if (n % 250 === 0) await loadPauses(60);
  }
  await Promise.all(pending);
  await expect.poll(() => countReturns(jid), { timeout: 50_000, interval: 200 }).toBe(total);
  await expect.poll(() => returner.ready).toBe(true);
});

test('returns survive the service stopping and another taking over', async () => {
  const jid = newJid();
  const writer = new EventWriter(worker);
  const total = 3_000;
  const appended = Array.from({ length: total }, (_, n) => appendReturn(writer, jid, `m${n}`));
  const first = await start();
  await start();
  await expect.poll(() => countReturns(jid)).toBeGreaterThan(0);
  await first.stop();
  await Promise.all(appended);
  await expect.poll(() => countReturns(jid), { timeout: 50_000 }).toBe(total);
});

test('returns that wait for PostgreSQL go back to the stream at a stop', async () => {
  const jid = newJid();
  const nobody = await start('postgres://x:y@127.0.0.1:1/z');
  await appendReturn(new EventWriter(worker), jid, 'm1');
  expect(nobody.returner.ready).toBe(false);
  await nobody.stop();
  await start();
  await expect.poll(() => countReturns(jid)).toBe(1);
});

test('a large return is stored whole, a broken one is put away', async () => {
  await start();
  const jid = newJid();
  const writer = new EventWriter(worker);
  const text = 'x'.repeat(3_000_000);
  await appendReturn(writer, jid, 'big', returnLoad(jid, 'big', text));
  await appendReturn(writer, jid, 'broken', Buffer.from([0xc1]));
  await appendReturn(writer, jid, 'last');
  await expect.poll(() => countReturns(jid)).toBe(2);
  const page = (await ask(worker, 'jobs.get_jid', mapOf({ jid }), 10_000)) as SaltMap;
  const big = (page.get('returns') as SaltMap).get('big') as SaltMap;
  expect(big.get('return') === text).toBe(true);
  // A write of its own: the others can be there before it.
  const putAway = async (): Promise<unknown> =>
    (await pool.query('SELECT id FROM brine.quarantine WHERE jid = $1', [jid])).rows;
  await expect.poll(putAway).toEqual([{ id: 'broken' }]);
});
