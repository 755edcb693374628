import { jobRow, returnRow } from '@brine/testing';
import { expect, test } from 'vitest';
import { at, jidAt, jobCacheScene } from '../../test/job-cache-scene.ts';

const { cache, pool } = await jobCacheScene();

test('a minion counts if it logged in or returned since then, and not before', async () => {
  const ids = ['Returned', 'logged-in', 'returned-before', 'logged-in-before', 'never'];
  for (const minutes of [-30, 30]) {
    await cache.saveJobs([jobRow(jidAt(minutes), { minions: ids, publishedAt: at(minutes) })]);
  }
  const back = (minutes: number, id: string, seq: number) =>
    returnRow(jidAt(minutes), id, true, { receivedAt: at(minutes + 1), seq });
  await cache.saveReturns([back(-30, 'returned-before', 1), back(30, 'Returned', 2)]);
  await pool.query(
    `INSERT INTO brine.log_ins (id, at)
     VALUES ('logged-in', ARRAY[to_timestamp($1), to_timestamp($2)]),
       ('logged-in-before', ARRAY[to_timestamp($1)])`,
    [at(-20) / 1000, at(20) / 1000],
  );
  expect([...(await cache.seenSince(ids, at(0)))].sort()).toEqual(['Returned', 'logged-in']);
  expect(await cache.seenSince(['never'], at(-60))).toEqual([]);
  expect(await cache.seenSince(['logged-in-before'], at(-20))).toEqual(['logged-in-before']);
});

test('a question about too many minions is refused', async () => {
  const many = Array.from({ length: 10_001 }, (_, n) => `m${n}`);
  await expect(cache.seenSince(many, at(0))).rejects.toThrow('at most 10000 minions');
});

test('a job ends with its last return', async () => {
  const jid = jidAt(200);
  await cache.saveJobs([jobRow(jid, { minions: ['one', 'two'], publishedAt: at(200) })]);
  expect(await cache.endTime(jid)).toBeUndefined();
  await cache.saveReturns([
    returnRow(jid, 'one', true, { receivedAt: at(203), seq: 10 }),
    returnRow(jid, 'two', true, { receivedAt: at(202), seq: 11 }),
  ]);
  expect(await cache.endTime(jid)).toBe(at(203));
});
