import { isJid } from '@brine/job';
import { makeDatabase } from '@brine/testing';
import { beforeAll, expect, test } from 'vitest';
import { databaseScene } from '../../test/job-cache-scene.ts';
import { StockTables, type TableJob, type TableReturn } from './stock-tables.ts';

/**
 * As the documentation of salt/returners/pgjsonb.py has a stock master's administrator make them.
 */
const TABLES = `
DROP SCHEMA brine CASCADE;
CREATE TABLE jids (jid varchar(255) NOT NULL PRIMARY KEY, load jsonb NOT NULL);
CREATE TABLE salt_returns (fun varchar(50) NOT NULL, jid varchar(255) NOT NULL,
  "return" jsonb NOT NULL, id varchar(255) NOT NULL, success varchar(10) NOT NULL,
  full_ret jsonb NOT NULL, alter_time timestamptz DEFAULT now());`;

const { pool, url } = await databaseScene();
beforeAll(() => pool.query(TABLES));

function job(number: number): TableJob {
  const jid = `20261125120000${String(number).padStart(6, '0')}`;
  if (!isJid(jid)) throw new Error('no jid');
  return { jid, load: `{"fun": "test.ping", "number": ${number}}` };
}

function returned(of: TableJob, id: string, value = 'true'): TableReturn {
  const fullRet = `{"id": "${id}", "jid": "${of.jid}", "return": ${value}, "success": true}`;
  return { jid: of.jid, id, fun: 'test.ping', fullRet, timeMs: 1_700_000_000_000 };
}

async function all<T>(source: AsyncIterable<readonly T[]>): Promise<T[]> {
  const found: T[] = [];
  for await (const some of source) found.push(...some);
  return found;
}

test('what is written is read again, and a second write adds nothing', async () => {
  const tables = await StockTables.connect(url);
  if (tables === undefined) throw new Error('taken for a database of Brine');
  const { jid } = job(1);
  const returns = ['a', 'b'].map((id) => returned(job(1), id, '18446744073709551616'));
  expect([await tables.writeJob(job(1)), await tables.writeReturns(jid, returns)]).toEqual([
    true,
    2,
  ]);
  expect([await tables.writeJob(job(1)), await tables.writeReturns(jid, returns)]).toEqual([
    false,
    0,
  ]);
  const [known] = await all(tables.jobs());
  expect(known).toMatchObject({ jid, load: expect.stringContaining('test.ping') as string });
  expect([...(known?.returned ?? [])].sort()).toEqual(['a', 'b']);
  const found = await all(tables.returns(jid));
  expect(found.map(({ id, timeMs }) => [id, timeMs])).toEqual([
    ['a', 1_700_000_000_000],
    ['b', 1_700_000_000_000],
  ]);
  // Digit for digit: JSON of JavaScript would round it.
  expect(found[0]?.fullRet).toContain('18446744073709551616');
  await tables.close();
});

test('jobs and returns come in pages, all of them once', async () => {
  const tables = await StockTables.connect(url);
  if (tables === undefined) throw new Error('taken for a database of Brine');
  await pool.query('TRUNCATE jids, salt_returns');
  for (let number = 1; number <= 450; number += 1) await tables.writeJob(job(number));
  const { jid } = job(7);
  const ids = Array.from({ length: 1_200 }, (_, at) => `m${at}`);
  await tables.writeReturns(
    jid,
    ids.map((id) => returned(job(7), id)),
  );
  // A stock master keeps a second return of a minion too; these have one time.
  await pool.query(`INSERT INTO salt_returns SELECT * FROM salt_returns WHERE id LIKE 'm1%'`);
  const twice = ids.filter((id) => id.startsWith('m1')).length;
  const jids = (await all(tables.jobs())).map(({ jid }) => jid);
  expect(jids).toHaveLength(450);
  expect(new Set(jids).size).toBe(450);
  const found = await all(tables.returns(jid));
  expect(new Set(found.map(({ id }) => id))).toEqual(new Set(ids));
  expect(found.length).toBe(1_200 + twice);
  expect(await all(tables.returns(job(8).jid))).toEqual([]);
  await tables.close();
});

test('a database of Brine is none of a stock master', async () => {
  await using own = await makeDatabase();
  expect(await StockTables.connect(own.url)).toBeUndefined();
});

test('an unreachable server is an error with its reason', async () => {
  await expect(StockTables.connect('postgres://x@127.0.0.1:1/x')).rejects.toMatchObject({
    name: 'JobCacheError',
  });
});
