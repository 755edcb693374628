import type { TestPostgres } from '@brine/testing';
import { endPool, jobRow, returnRow, startPostgres } from '@brine/testing';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { JobCache } from '../job-cache.ts';
import { migrate, readMigrations } from '../schema/migrate.ts';
import { CopyIn } from './copy-in.ts';
import { CopyOut, type SequenceValues } from './copy-out.ts';

const JID = '20241125120000000001';
const OLD = '20201125120000000001';

let server: TestPostgres;
let full: string;

beforeAll(async () => {
  server = await startPostgres();
  full = await emptyDatabase();
  // Only days that are near have tables of their own, which the archive takes.
  const past = await JobCache.connect(full, { now: () => Date.parse('2020-11-26') });
  await past.saveJobs([jobRow(OLD)]);
  await past.saveReturns([returnRow(OLD, 'm1', 'tab\there')]);
  await past.archiveOlderThan(Date.parse('2021-01-01'));
  await past.close();
  const cache = await JobCache.connect(full);
  await cache.saveJobs([jobRow(JID), jobRow('odd jid')]);
  await cache.saveReturns([returnRow(JID, 'm1', true)]);
  await cache.close();
  // As a stock returner writes, which a trigger takes apart.
  await query(
    full,
    `INSERT INTO public.jids (jid, load) VALUES ('20241125120000000002', '{"fun": "a.b"}')`,
  );
  await query(full, "UPDATE brine.jobs SET fun = '{kept}' WHERE jid = '20241125120000000002'");
  await query(
    full,
    `INSERT INTO brine.quarantine (kind, jid, id, incarnation, seq, sqlstate, reason, raw)
     SELECT 'return', 'j', 'i', 'p', n, '22000', 'r', '\\x00ff' FROM generate_series(1, 3) AS n`,
  );
});
afterAll(() => server.stop());

let databases = 0;

async function emptyDatabase(): Promise<string> {
  const name = `copy_${(databases += 1)}`;
  await query(server.superuserUrl, `CREATE DATABASE ${name} OWNER brine_services`);
  return server.url.replace(/\/brine$/, `/${name}`);
}

async function query(url: string, text: string): Promise<object[]> {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  try {
    return (await pool.query<object>(text)).rows;
  } finally {
    await endPool(pool);
  }
}

/** A database as a backup keeps it. */
async function taken(url: string) {
  const out = await CopyOut.open(url);
  if (out === undefined) throw new Error('it is empty');
  try {
    const rows = new Map<string, Buffer[]>();
    for (const table of out.head.tables) {
      const chunks: Buffer[] = [];
      for await (const chunk of out.table(table)) chunks.push(Buffer.from(chunk));
      rows.set(table.name, chunks);
    }
    return { head: out.head, rows, sequences: await out.sequences() };
  } finally {
    await out.close();
  }
}

type Taken = Awaited<ReturnType<typeof taken>>;

async function restore(url: string, { head, rows, sequences }: Taken): Promise<void> {
  const copy = await CopyIn.open(url);
  try {
    await copy.begin(head);
    for (const table of head.tables) await copy.table(table, chunksOf(rows.get(table.name) ?? []));
    await copy.commit('b1', sequences);
  } finally {
    await copy.close();
  }
}

async function* chunksOf(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  for (const chunk of chunks) yield await Promise.resolve(chunk);
}

async function stateOf(url: string) {
  const copy = await CopyIn.open(url);
  try {
    return await copy.state();
  } finally {
    await copy.close();
  }
}

const textOf = ({ rows }: Taken): [string, string][] =>
  [...rows].map(([name, chunks]) => [name, String(Buffer.concat(chunks))]);

test('all rows come back as they are, those of triggers too, and numbers go on', async () => {
  const backup = await taken(full);
  const url = await emptyDatabase();
  expect(await stateOf(url)).toEqual({ kind: 'absent' });
  await restore(url, backup);
  const again = await taken(url);
  expect(textOf(again)).toEqual(textOf(backup));
  expect(again.head).toEqual(backup.head);
  expect(again.sequences).toEqual(backup.sequences satisfies SequenceValues);
  expect(backup.head.lastJid).toBe('20241125120000000002');
  expect(backup.head.archived).toContain(`jobs_${OLD.slice(0, 8)}`);
  expect(await stateOf(url)).toEqual({ kind: 'restored', from: 'b1' });

  const next = await query(
    url,
    `INSERT INTO brine.quarantine (kind, jid, id, incarnation, seq, sqlstate, reason, raw)
     VALUES ('return', 'j', 'i', 'p', 9, '22000', 'r', '') RETURNING number`,
  );
  expect(next).toEqual([{ number: '4' }]);
  // Triggers work again.
  await query(
    url,
    `INSERT INTO public.jids (jid, load) VALUES ('20241125120000000003', '{"fun": "a.b"}')`,
  );
  const taken3 = await query(url, "SELECT fun FROM brine.jobs WHERE jid = '20241125120000000003'");
  expect(taken3).toEqual([{ fun: ['a.b'] }]);
  const cache = await JobCache.connect(url);
  expect([...(await cache.getJid(JID)).returns.keys()]).toEqual(['m1']);
  await cache.close();
});

test('what is written meanwhile is not in it', async () => {
  const out = await CopyOut.open(full);
  await query(full, `INSERT INTO public.jids (jid, load) VALUES ('20241125120000000009', '{}')`);
  let text = '';
  const jobs = out?.head.tables.find(({ name }) => name === 'brine.jobs');
  if (out === undefined || jobs === undefined) throw new Error('no jobs');
  for await (const chunk of out.table(jobs)) text += String(Buffer.from(chunk));
  await out.close();
  expect(text).not.toContain('20241125120000000009');
  await query(full, "DELETE FROM brine.jobs WHERE jid = '20241125120000000009'");
});

test('a restore that breaks off in a table leaves an empty database', async () => {
  const backup = await taken(full);
  const url = await emptyDatabase();
  const copy = await CopyIn.open(url);
  await copy.begin(backup.head);
  const half = async function* (): AsyncGenerator<Buffer> {
    yield* chunksOf([Buffer.from('')]);
    throw new Error('killed');
  };
  const [table] = backup.head.tables;
  if (table === undefined) throw new Error('no table');
  await expect(copy.table(table, half())).rejects.toThrow('killed');
  await copy.close();
  expect(await stateOf(url)).toEqual({ kind: 'empty' });
  await restore(url, backup);
  expect(textOf(await taken(url))).toEqual(textOf(backup));
});

test('a database in use is recognised, and one without a master has nothing to copy', async () => {
  expect(await stateOf(full)).toMatchObject({
    kind: 'used',
    table: expect.stringMatching(/^brine/),
  });
  expect(await CopyOut.open(await emptyDatabase())).toBeUndefined();
});

test('a backup of a newer release, or of another line, is refused before anything is made', async () => {
  const { head } = await taken(full);
  const url = await emptyDatabase();
  const copy = await CopyIn.open(url);
  const newer = { ...head, migrations: [...head.migrations, 'f'.repeat(64)] };
  await expect(copy.begin(newer)).rejects.toMatchObject({ code: 'SALT_JOBCACHE_SCHEMA_NEWER' });
  const other = { ...head, migrations: ['f'.repeat(64), ...head.migrations.slice(1)] };
  await expect(copy.begin(other)).rejects.toMatchObject({ code: 'SALT_JOBCACHE_SCHEMA_CHANGED' });
  expect(await copy.state()).toEqual({ kind: 'absent' });
  await copy.close();
});

test('a backup of an older release comes back at its schema, and the next start migrates', async () => {
  const known = await readMigrations();
  const old = await emptyDatabase();
  const pool = new pg.Pool({ connectionString: old, max: 1 });
  await migrate(pool, known.slice(0, -1));
  await endPool(pool);
  await query(
    old,
    `INSERT INTO brine.quarantine (kind, jid, id, incarnation, seq, sqlstate, reason, raw)
     VALUES ('return', 'j', 'i', 'p', 1, '22000', 'r', '')`,
  );
  const url = await emptyDatabase();
  await restore(url, await taken(old));
  const count = 'SELECT count(*)::integer AS n FROM brine.migrations';
  expect(await query(url, count)).toEqual([{ n: known.length - 1 }]);
  await (await JobCache.connect(url)).close();
  expect(await query(url, count)).toEqual([{ n: known.length }]);
  expect(await query(url, 'SELECT tries FROM brine.quarantine')).toEqual([{ tries: 0 }]);
});
