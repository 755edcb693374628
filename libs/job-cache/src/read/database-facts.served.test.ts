import { makeDatabase, type TestDatabase } from '@brine/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { JobCache } from '../job-cache.ts';
import { databaseFacts } from './database-facts.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await makeDatabase();
});
afterAll(() => database.drop());

test('the facts of a database have size, settings, connections and schema', async () => {
  // A database without Brine's schema.
  const other = Object.assign(new URL(database.url), { pathname: '/postgres' }).href;
  expect(Object.keys((await databaseFacts(other)).unknown)).toEqual(['schema']);
  const cache = await JobCache.connect(database.url);
  try {
    for (const facts of [await databaseFacts(database.url), await cache.facts()]) {
      expect(facts.unknown).toEqual({});
      expect(facts.server).toMatchObject({ standby: false });
      expect(Math.abs(Number(facts.server['nowMs']) - Date.now())).toBeLessThan(60_000);
      expect(Number(facts.settings['max_connections'])).toBeGreaterThan(0);
      expect(facts.connections['total']).toBeGreaterThan(0);
      expect(facts.schema).toMatchObject({ quarantined: 0, orphans: 0 });
      expect(facts.tables.map((row) => row['table'])).toContain('brine.durable');
    }
  } finally {
    await cache.close();
  }
});

test('an unreachable database is an error with its reason', async () => {
  const url = 'postgres://u:p@127.0.0.1:9/x';
  await expect(databaseFacts(url)).rejects.toMatchObject({
    name: 'JobCacheError',
    retryable: true,
  });
});
