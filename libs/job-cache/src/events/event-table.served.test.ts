import { makeDatabase } from '@brine/testing';
import pg from 'pg';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { databaseScene } from '../../test/job-cache-scene.ts';
import { EventTable, type EventTableOptions, isRefusedEvent } from './event-table.ts';

/** As the documentation of Salt's returner makes it. */
const STOCK = `
CREATE SEQUENCE seq_salt_events_id;
CREATE TABLE salt_events (
  id BIGINT NOT NULL UNIQUE DEFAULT nextval('seq_salt_events_id'),
  tag varchar(255) NOT NULL,
  data DATA NOT NULL,
  alter_time TIMESTAMP WITH TIME ZONE DEFAULT NOW(),
  master_id varchar(255) NOT NULL)`;

const { pool, url } = await databaseScene();
beforeEach(() => pool.query('TRUNCATE public.salt_events, brine.event_return'));

function table(options: Partial<EventTableOptions> = {}): EventTable {
  const own = { url, data: 'jsonb', masterId: 'm1_master', isOwn: true } as const;
  const made = new EventTable({ ...own, writer: 'pgjsonb', ...options });
  onTestFinished(() => made.close());
  return made;
}

const row = (n: number, more: object = {}) => {
  return { tag: `t/${n}`, data: JSON.stringify({ n, ...more }), atMs: 1_764_000_000_123 + n };
};

async function rows(): Promise<unknown[]> {
  const text = `SELECT tag, data, master_id, extract(epoch FROM alter_time)::float8 * 1000 AS at
    FROM salt_events ORDER BY id`;
  return (await pool.query<object>(text)).rows;
}

test('rows and place are there together, in order, as pgjsonb writes them', async () => {
  const events = table();
  expect(await events.place()).toBe(undefined);
  expect(await events.add([], { from: '', to: 'p0' })).toBe(true);
  expect(await events.add([row(1), row(2)], { from: 'p0', to: 'p2' })).toBe(true);
  expect(await events.place()).toBe('p2');
  expect(await rows()).toEqual([
    { tag: 't/1', data: { n: 1 }, master_id: 'm1_master', at: 1_764_000_000_124 },
    { tag: 't/2', data: { n: 2 }, master_id: 'm1_master', at: 1_764_000_000_125 },
  ]);
});

test('a writer that does not know the place adds nothing', async () => {
  const [one, two] = [table(), table()];
  await one.add([], { from: '', to: 'p0' });
  expect(await two.add([row(9)], { from: '', to: 'p1' })).toBe(false);
  expect(await one.add([row(1)], { from: 'p0', to: 'p1' })).toBe(true);
  expect(await two.add([row(1)], { from: 'p0', to: 'p1' })).toBe(false);
  expect(await rows()).toHaveLength(1);
});

test('of two writers at the same time one adds', async () => {
  const tables = [table(), table(), table()];
  await tables[0]!.add([], { from: '', to: 'p0' });
  for (let n = 0; n < 20; n += 1) {
    const move = { from: `p${n}`, to: `p${n + 1}` };
    const added = await Promise.all(tables.map((one) => one.add([row(n)], move)));
    expect(added.filter(Boolean)).toHaveLength(1);
  }
  expect(await rows()).toHaveLength(20);
});

test('an event that is refused leaves nothing of its batch, the place neither', async () => {
  const events = table();
  await events.add([], { from: '', to: 'p0' });
  const half = { ...row(2), tag: 'a\ud800' };
  const nul = { ...row(3), tag: 'a\0b' };
  for (const bad of [half, nul]) {
    const adding = events.add([row(1), bad], { from: 'p0', to: 'p2' });
    await expect(adding).rejects.toSatisfy(isRefusedEvent);
  }
  expect([await rows(), await events.place()]).toEqual([[], 'p0']);
});

test('a table that is missing is no fault of an event', async () => {
  await pool.query('ALTER TABLE public.salt_events RENAME TO away');
  onTestFinished(async () => {
    await pool.query('ALTER TABLE public.away RENAME TO salt_events');
  });
  const adding = table().add([row(1)]);
  await expect(adding).rejects.not.toSatisfy(isRefusedEvent);
});

test.each(['jsonb', 'text'] as const)(
  'a database of the site gets its own places (%s)',
  async (data) => {
    const other = await makeDatabase();
    onTestFinished(() => other.drop());
    const client = new pg.Client({ connectionString: other.url });
    await client.connect();
    onTestFinished(() => client.end());
    await client.query('DROP TABLE public.salt_events; DROP SEQUENCE public.seq_salt_events_id');
    await client.query(STOCK.replace('DATA', data));
    const events = table({ url: other.url, isOwn: false, data, writer: 'pgjsonb m1' });
    expect(await events.place()).toBe(undefined);
    expect(events.keepsPlace).toBe(true);
    await events.add([row(1)], { from: '', to: 'p1' });
    const found = await client.query<{ data: unknown }>('SELECT data FROM salt_events');
    expect(found.rows).toEqual([{ data: data === 'text' ? '{"n":1}' : { n: 1 } }]);
    const places = await client.query('SELECT writer, place FROM brine_event_return');
    expect(places.rows).toEqual([{ writer: 'pgjsonb m1', place: 'p1' }]);
  },
);
