import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Bus } from '@brine/bus';
import { EventWriter } from '@brine/bus/events';
import { PublicationWriter } from '@brine/bus/jobs';
import type { MasterOptions } from '@brine/config';
import { type Jid, jobReturnTag } from '@brine/job';
import type { Refusal } from '@brine/job-cache';
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
import { until } from '@brine/testing/waits';
import { mapOf, pack } from '@brine/wire';
import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  openEventReturn,
  type RunningEventReturn,
} from './adapters/event-return/open-event-return.ts';

const JID = '20261126100000000001' as Jid;

let nats: TestNats;
let database: TestDatabase;
let pool: pg.Pool;
let worker: Bus;
let dir: string;
let running: RunningEventReturn[];
let refused: Refusal[];
beforeEach(async () => {
  [nats, database] = await Promise.all([startNats(), makeDatabase()]);
  worker = await nats.connect('worker-pool');
  pool = new pg.Pool({ connectionString: database.url, max: 2 });
  dir = await mkdtemp(join(tmpdir(), 'brine-return-'));
  running = [];
  refused = [];
});
afterEach(async () => {
  await Promise.all(running.map((one) => one.close()));
  await endPool(pool);
  await Promise.all([nats.close(), database.drop(), rm(dir, { recursive: true, force: true })]);
});

/** Begins to return events, as a process of the service does. */
async function start(options: Partial<MasterOptions> = {}, host = 'h1'): Promise<Metrics> {
  const metrics = new Metrics();
  const events = openEventReturn({
    bus: await nats.connect('job-cache-returner'),
    options: {
      eventReturn: ['pgjsonb', 'rawfile_json'],
      eventReturnQueue: 0,
      eventReturnQueueMaxSeconds: 0,
      eventReturnWhitelist: [],
      eventReturnBlacklist: [],
      maxEventSize: 10_000,
      id: 'test_master',
      written: { 'rawfile_json.filename': join(dir, 'events') },
      brine: { host },
      ...options,
    } as unknown as MasterOptions,
    databaseUrl: database.url,
    connected: Promise.resolve(),
    log: createLog({ service: 'test', level: 'quiet' }),
    metrics,
    signal: new AbortController().signal,
    python: undefined,
    putAway: async (row) => {
      refused.push(row);
      return { kind: row.kind, jid: '', id: row.id, state: '' };
    },
    count: async () => refused.length,
  });
  running.push(events);
  return metrics;
}

async function stop(): Promise<void> {
  await running.pop()?.close();
}

async function rowTags(): Promise<string[]> {
  const { rows } = await pool.query<{ tag: string }>('SELECT tag FROM salt_events ORDER BY id');
  return rows.map(({ tag }) => tag);
}

async function lineTags(): Promise<string[]> {
  const text = await readFile(join(dir, 'events'), 'utf8').catch(() => '');
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => (JSON.parse(line) as { readonly tag: string }).tag);
}

async function placeIsKept(): Promise<void> {
  await until('both have a place', async () => {
    const { rowCount } = await pool.query('SELECT FROM brine.event_return');
    const status = running.at(-1)?.status() as Record<string, { writes: boolean }>;
    return rowCount === 1 && Object.values(status).every(({ writes }) => writes);
  });
  // The file's place is in the bucket as soon as its first events are there.
  await fire('begin/0');
  await until('the first event is in both', async () => {
    return (await rowTags()).includes('begin/0') && (await lineTags()).includes('begin/0');
  });
}

let fired = 0;

function fire(tag: string, data: Record<string, string | number> = {}): Promise<unknown> {
  const msgId = `event-${(fired += 1)}`;
  return new EventWriter(worker).append({ kind: 'local', tag, body: pack(mapOf(data)), msgId });
}

/** Waits until both returners have read what was fired: what is no event comes after it. */
async function isRead(metrics: Metrics, unreadable: number): Promise<void> {
  const body = Buffer.from([0xc1]);
  await new EventWriter(worker).append({ kind: 'local', tag: 'unreadable', body });
  await until('it was read', async () => {
    const text = await metrics.text('prometheus');
    const counts = [...text.matchAll(/outcome="unreadable"\} (\d+)$/gm)].map(([, n]) => Number(n));
    return isDeepStrictEqual(counts, [unreadable, unreadable]);
  });
}

function publish(): Promise<unknown> {
  const load = pack(mapOf({ jid: JID, fun: 'test.ping', arg: [1], tgt: '*', user: 'u' }));
  return new PublicationWriter(worker).appendJob({
    jid: JID,
    publication: pack(mapOf({ jid: JID, fun: 'test.ping' })),
    load,
    principal: 'root key',
    user: 'u',
    fun: 'test.ping',
    tgt: '*',
    tgtType: 'glob',
    minions: ['m1', 'm2'],
    missing: [],
    hidden: false,
    host: 'h1',
    requestId: 'r1',
    publishedAt: Date.now(),
    deadlineAt: Date.now() + 3_600_000,
    notAfter: Date.now() + 30_000,
  });
}

test('jobs, returns and other events are rows and lines, in the order of the bus', async () => {
  await start();
  await placeIsKept();
  await publish();
  const writer = new EventWriter(worker);
  await Promise.all(
    ['m1', 'm2'].map((minion) =>
      writer.append({
        kind: 'ret',
        tag: jobReturnTag(JID, minion),
        jid: JID,
        minion,
        body: returnLoad(JID, minion, true),
      }),
    ),
  );
  // Rows of the job cache are no events of the bus.
  await writer.append({
    kind: 'audit',
    tag: 'brine/audit',
    body: Buffer.from('[]'),
    msgId: 'audit',
  });
  await fire('my/tag', { a: 1 });
  const expected = [
    ...['begin/0', `salt/job/${JID}/new`, `salt/job/${JID}/publish`],
    ...[jobReturnTag(JID, 'm1'), jobReturnTag(JID, 'm2'), 'my/tag'],
  ];
  await expect.poll(rowTags).toEqual(expected);
  await expect.poll(lineTags).toEqual(expected);
  const { rows } = await pool.query<{ data: object; master_id: string }>(
    'SELECT data, master_id FROM salt_events ORDER BY id',
  );
  expect(rows[1]).toMatchObject({
    master_id: 'test_master',
    data: { jid: JID, fun: 'test.ping', arg: [1], minions: ['m1', 'm2'], missing: [] },
  });
  expect(rows[3]?.data).toMatchObject({ id: 'm1', jid: JID, return: true });
  expect(rows[5]?.data).toEqual({
    a: 1,
    _stamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{6}\+00:00$/) as string,
  });
});

test('what comes while no process runs is returned by the next one, once', async () => {
  await start();
  await placeIsKept();
  await fire('a/1');
  await expect.poll(rowTags).toEqual(['begin/0', 'a/1']);
  await stop();
  for (const n of [2, 3]) await fire(`a/${n}`);
  await start();
  await fire('a/4');
  const expected = ['begin/0', 'a/1', 'a/2', 'a/3', 'a/4'];
  await expect.poll(rowTags).toEqual(expected);
  await expect.poll(lineTags).toEqual(expected);
});

test('of two processes one writes, and the other continues when it stops', async () => {
  await start();
  await placeIsKept();
  await start({}, 'h2');
  const second = running.pop()!;
  for (let n = 0; n < 20; n += 1) await fire(`b/${n}`);
  const tags = Array.from({ length: 20 }, (_, n) => `b/${n}`);
  await expect.poll(rowTags).toEqual(['begin/0', ...tags]);
  expect(Object.values(second.status())).toEqual([
    { writes: false, away: false },
    { writes: false, away: false },
  ]);
  await stop();
  running.push(second);
  await fire('b/20');
  const all = ['begin/0', ...tags, 'b/20'];
  await expect.poll(rowTags).toEqual(all);
  await expect.poll(lineTags).toEqual(all);
});

test('tags that are not wanted are passed over, and one that is refused goes away', async () => {
  const metrics = await start({
    eventReturn: ['pgjsonb'],
    eventReturnWhitelist: ['begin/*', 'kept/*', 'x*'],
    eventReturnBlacklist: ['*/secret'],
  });
  await until('it has a place', async () => {
    const { rowCount } = await pool.query('SELECT FROM brine.event_return');
    return rowCount === 1;
  });
  // A text column of PostgreSQL refuses it.
  const odd = 'x\0y';
  for (const tag of ['begin/0', 'other', 'kept/secret', 'kept/1', odd, 'kept/2']) await fire(tag);
  await expect.poll(rowTags).toEqual(['begin/0', 'kept/1', 'kept/2']);
  expect(refused).toMatchObject([{ kind: 'event', id: 'pgjsonb', about: { tag: odd } }]);
  const text = await metrics.text('prometheus');
  expect(text).toContain('outcome="quarantined"} 1\n');
  expect(text).toContain('outcome="returned"} 3\n');
});

test('a queue waits for its number or its seconds, and a stop writes its events', async () => {
  await start();
  await placeIsKept();
  await stop();
  const metrics = await start({ eventReturnQueue: 4 });
  for (const n of [1, 2, 3]) await fire(`q/${n}`);
  await isRead(metrics, 1);
  expect(await rowTags()).toEqual(['begin/0']);
  await fire('q/4');
  const four = ['begin/0', 'q/1', 'q/2', 'q/3', 'q/4'];
  await expect.poll(rowTags).toEqual(four);
  await fire('q/5');
  await isRead(metrics, 2);
  expect(await rowTags()).toEqual(four);
  await stop();
  expect(await rowTags()).toEqual([...four, 'q/5']);
  expect(await lineTags()).toEqual([...four, 'q/5']);
  await start({ eventReturnQueue: 4, eventReturnQueueMaxSeconds: 1 });
  await fire('q/6');
  await expect.poll(rowTags).toEqual([...four, 'q/5', 'q/6']);
});
