import { BrineMaster, startPostgres, type TestPostgres } from '@brine/testing';
import { until } from '@brine/testing/waits';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';

/*
 * What PostgreSQL refuses of a whole master: seen, tried again and dropped by its operator.
 */

type Row = Readonly<Record<string, string | number | null>>;

interface Listed {
  readonly Total: number;
  readonly Rows: readonly Row[];
}

const PATIENCE = { withinMs: 30_000 };

let postgres: TestPostgres;
let master: BrineMaster;
let database: pg.Client;

beforeAll(async () => {
  postgres = await startPostgres();
  master = await BrineMaster.start(
    { brine: { workers: 1 } },
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

async function ping(fun: string): Promise<void> {
  const { stdout } = await master.brine('salt', ['one', fun, 'x', '--out', 'json']);
  expect(stdout).toContain('x');
}

it('returns that a trigger refuses are listed, and stored by one retry once it is gone', async () => {
  await database.query(`
    CREATE FUNCTION public.odd() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF NEW.fun = 'test.echo' THEN
        RAISE EXCEPTION 'no such column' USING ERRCODE = '42703';
      END IF;
      RETURN NEW; END $$;
    CREATE TRIGGER odd BEFORE INSERT ON brine.returns
      FOR EACH ROW EXECUTE FUNCTION public.odd()`);
  await ping('test.echo');
  const listed = await until(
    'the odd return is in quarantine',
    async () => {
      const found = await run<Listed>('jobs.quarantine', 'kind=return');
      expect(found.Total).toBe(1);
      return found;
    },
    PATIENCE,
  );
  const [row] = listed.Rows;
  expect(row).toMatchObject({ Minion: 'one', SQLSTATE: '42703', Reason: 'no such column' });
  const jid = String(row?.['JID']);
  expect(await run('jobs.lookup_jid', jid)).toEqual({});
  expect(await run('jobs.quarantine_retry', 'all')).toEqual({ Stored: 0, Refused: 1 });
  // All else is stored meanwhile.
  expect(await run('jobs.quarantine', 'kind=job')).toMatchObject({ Total: 0 });

  await database.query(`CREATE OR REPLACE FUNCTION public.odd() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RETURN NEW; END $$`);
  expect(await run('jobs.quarantine_retry', 'all')).toEqual({ Stored: 1, Refused: 0 });
  expect(await run('jobs.lookup_jid', jid)).toEqual({ one: 'x' });
  expect(await run('jobs.quarantine')).toMatchObject({ Total: 0, Rows: [] });
});

it('a drop names its rows, and is on record as the retry is', async () => {
  await database.query(`INSERT INTO brine.quarantine
    (kind, jid, id, incarnation, seq, sqlstate, reason, raw)
    SELECT 'seen', '', '', 'i', n, '22021', 'odd', '\\x00' FROM generate_series(1, 3) AS n`);
  const unsaid = await master.brine('run', ['jobs.quarantine_drop']);
  expect(unsaid.stdout + unsaid.stderr).toContain('say which rows');
  const { Rows: rows } = await run<Listed>('jobs.quarantine', 'state=22');
  const number = String(rows[0]?.['Row']);
  expect(await run('jobs.quarantine_drop', number)).toEqual({ Dropped: 1 });
  expect(await run('jobs.quarantine_drop', 'state=22')).toEqual({ Dropped: 2 });
  await until(
    'both acts are on record',
    async () => {
      const acts = await run<Row[]>('audit.list', 'limit=500', 'kind=runner');
      const funs = acts.map((act) => act['fun']);
      expect(funs).toEqual(expect.arrayContaining(['quarantine_retry', 'quarantine_drop']));
      expect(funs).not.toContain('quarantine');
      return true;
    },
    PATIENCE,
  );
});
