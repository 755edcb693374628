import { BrineMaster, startPostgres, type TestPostgres } from '@brine/testing';
import pg from 'pg';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';

/*
 * What is on record of a whole master: written by its services, kept in PostgreSQL, and every touch
 * of it named by `brine run audit.verify`.
 */

interface Verified {
  readonly intact: boolean;
  readonly rows: number;
  readonly faults: readonly string[];
}

let postgres: TestPostgres;
let master: BrineMaster;
let database: pg.Client;

beforeAll(async () => {
  postgres = await startPostgres();
  master = await BrineMaster.start(
    { brine: { workers: 2 } },
    { env: { DATABASE_URL: postgres.url } },
  );
  await master.startMinion('one');
  await master.acceptKeys(['one']);
  await master.waitForMinions(['one']);
  database = new pg.Client({ connectionString: postgres.url });
  await database.connect();
});
afterAll(async () => {
  await database?.end();
  await master?.close();
  await postgres?.stop();
});

async function run<T>(...args: readonly string[]): Promise<T> {
  const { stdout, stderr, code } = await master.brine('run', [...args, '--out', 'json']);
  if (code !== 0) throw new Error(`${stdout}${stderr}`);
  return JSON.parse(stdout) as T;
}

/** Undone afterwards, so that each case begins with a record that nobody touched. */
async function afterTouch(sql: string): Promise<readonly string[]> {
  await database.query('CREATE TABLE brine.kept AS SELECT * FROM brine.audit');
  await database.query(sql);
  const { faults, intact } = await run<Verified>('audit.verify');
  expect(intact).toBe(faults.length === 0);
  await database.query('TRUNCATE brine.audit');
  await database.query('INSERT INTO brine.audit SELECT * FROM brine.kept');
  await database.query('DROP TABLE brine.kept');
  return faults;
}

it('key acts, log-ins and publishes are on record, without arguments, and intact', async () => {
  await vi.waitFor(
    async () => {
      const rows = await run<Record<string, string | number>[]>('audit.list', 'limit=500');
      const told = (kind: string): (string | number | undefined)[] =>
        rows.filter((row) => row['kind'] === kind).map((row) => row['outcome']);
      expect(told('key')).toContain('pending to accepted');
      expect(told('login')).toContain('pend');
      expect(told('publish')).toContain('done');
      const published = rows.find((row) => row['kind'] === 'publish');
      expect(published).toMatchObject({ principal: 'root', fun: 'test.ping', method: 'key' });
      expect(published?.['argsHash']).toHaveLength(64);
    },
    { timeout: 30_000, interval: 500 },
  );
  expect(await run<Verified>('audit.verify')).toMatchObject({ intact: true, faults: [] });
});

it.each([
  ['an edit', `UPDATE brine.audit SET body = replace(body, '}', ', "x": 1}') WHERE n = 1`],
  ['a deletion', 'DELETE FROM brine.audit WHERE n = 1'],
  [
    'rows that changed places',
    `UPDATE brine.audit a SET body = b.body, seal = b.seal FROM brine.audit b
      WHERE a.writer = b.writer AND a.n = 1 AND b.n = 2`,
  ],
])('%s is named', async (_what, sql) => {
  const faults = await afterTouch(sql);
  expect(faults.length).toBeGreaterThan(0);
  expect(await run<Verified>('audit.verify')).toMatchObject({ intact: true });
});
