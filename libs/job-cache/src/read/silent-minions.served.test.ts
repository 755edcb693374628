import { jobRow, returnRow } from '@brine/testing';
import { expect, test } from 'vitest';
import { at, jidAt, jobCacheScene } from '../../test/job-cache-scene.ts';

const { cache, pool } = await jobCacheScene();

test('the answer about silent minions has their evidence, a page at a time', async () => {
  const jid = jidAt(0);
  const minions = ['away', 'late', 'ok', 'runs'];
  const job = (minutes: number, ids: readonly string[]) =>
    jobRow(jidAt(minutes), { minions: [...ids], publishedAt: at(minutes), deadlineAt: at(60) });
  const back = (minutes: number, id: string, receivedAt: number, seq: number) =>
    returnRow(jidAt(minutes), id, true, { receivedAt: at(receivedAt), seq });
  await cache.saveJobs([
    job(-30, minions),
    job(-20, ['away', 'ok']),
    job(-10, ['away']),
    { ...job(0, minions), missing: ['stranger'] },
    job(10, ['runs']),
  ]);
  await cache.saveReturns([
    back(-30, 'away', -29, 1),
    back(-30, 'late', -29, 2),
    back(-30, 'runs', -29, 3),
    back(-30, 'ok', -29, 4),
    back(-20, 'ok', -19, 5),
    back(0, 'ok', 1, 6),
    back(0, 'late', 61, 7),
    back(10, 'runs', 11, 8),
  ]);
  await pool.query(
    `INSERT INTO brine.sightings (jid, id, kind, first_at, last_at, count, detail)
     VALUES ($1, 'runs', 'running', to_timestamp($2), to_timestamp($3), 2, '{}'),
       ($1, 'away', 'refused', to_timestamp($2), to_timestamp($2), 1, '{"reason": "why not"}'),
       ($1, '', 'expired', to_timestamp($2), to_timestamp($2), 1, '{}')`,
    [jid, at(2) / 1000, at(3) / 1000],
  );
  await pool.query(
    `INSERT INTO brine.log_ins (id, at)
     VALUES ('away', ARRAY[to_timestamp($1), to_timestamp($2)])`,
    [at(-15) / 1000, at(5) / 1000],
  );

  const first = await cache.silentMinions(jid, { limit: 2 });
  expect(first).toMatchObject({ publishedMs: at(0), deadlineMs: at(60), next: 'late' });
  const [away, late] = first?.minions ?? [];
  expect(away).toMatchObject({
    id: 'away',
    targeted: true,
    returnedMs: undefined,
    logInsMs: [at(-15), at(5)],
    heardBeforeMs: at(-29),
    // Its log-in was after the first of the two jobs that it left unanswered.
    unansweredBefore: 1,
  });
  const once = { firstMs: at(2), lastMs: at(2), count: 1 };
  expect(Object.fromEntries(away?.sightings ?? [])).toEqual({
    expired: { ...once, reason: undefined },
    refused: { ...once, reason: 'why not' },
  });
  expect(late).toMatchObject({ id: 'late', returnedMs: at(61), unansweredBefore: 0 });

  const second = await cache.silentMinions(jid, { after: 'late', limit: 2 });
  expect(second?.next).toBeUndefined();
  expect(second?.minions).toMatchObject([
    { id: 'runs', heardAfterMs: at(11), heardBeforeMs: at(-29), unansweredBefore: 0 },
    { id: 'stranger', targeted: false, heardBeforeMs: undefined },
  ]);
  expect(second?.minions[0]?.sightings.get('running')).toMatchObject({ lastMs: at(3), count: 2 });

  const asked = await cache.silentMinions(jid, { ids: ['ok', 'nobody'] });
  expect(asked?.minions).toMatchObject([
    { id: 'nobody', targeted: false, returnedMs: undefined },
    { id: 'ok', targeted: true, returnedMs: at(1) },
  ]);
  expect(await cache.silentMinions(jidAt(99))).toBeUndefined();
});

test('the ledger of a moment is folded from the rows that came until then', async () => {
  const jid = jidAt(200);
  const minions = ['bad', 'late', 'never', 'ok', 'runs'];
  const job = jobRow(jid, { minions, publishedAt: at(200), deadlineAt: at(260) });
  await cache.saveJobs([job]);
  await cache.saveReturns([
    returnRow(jid, 'ok', true, { receivedAt: at(201), seq: 21 }),
    returnRow(jid, 'late', true, { receivedAt: at(340), seq: 22 }),
    returnRow(jid, 'guest', true, { receivedAt: at(202), seq: 23 }),
  ]);
  await pool.query(
    `INSERT INTO brine.sightings (jid, id, kind, first_at, last_at, count)
     VALUES ($1, 'runs', 'running', to_timestamp($2), to_timestamp($3), 2)`,
    [jid, at(210) / 1000, at(270) / 1000],
  );
  const counts = async (minutes: number) => {
    const found = await cache.jobAt(jid, at(minutes));
    const states: Record<string, number> = {};
    for (const state of found?.states?.values() ?? []) states[state] = (states[state] ?? 0) + 1;
    return { deadline: found?.deadlineMs, states };
  };
  expect((await cache.jobAt(jid, at(199)))?.states).toBeUndefined();
  expect(await counts(200)).toEqual({ deadline: at(260), states: { waiting: 5 } });
  expect((await counts(201.5)).states).toEqual({ waiting: 4, returned: 1 });
  expect((await counts(203)).states).toEqual({ waiting: 4, returned: 2 });
  // Seen running before and after: it ran, and the deadline is an hour from then.
  expect(await counts(265)).toEqual({ deadline: at(325), states: { waiting: 4, returned: 2 } });
  expect(await counts(330)).toEqual({ deadline: at(330), states: { never: 4, returned: 2 } });
  expect((await counts(341)).states).toEqual({ never: 3, late: 1, returned: 2 });
  expect(await cache.jobAt(jidAt(299), at(0))).toBeUndefined();
});
