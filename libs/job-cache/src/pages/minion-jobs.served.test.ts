import { jobRow, returnLoad, returnRow } from '@brine/testing';
import { mapOf, pack, type SaltValue } from '@brine/wire';
import { beforeAll, describe, expect, test } from 'vitest';
import { at, jidAt, jobCacheScene } from '../../test/job-cache-scene.ts';
import type { JobRow, ReturnRow } from '../save/rows.ts';
import type { MinionJobFilter } from './minion-jobs.ts';

const { cache, pool } = await jobCacheScene();

const HOUR_MS = 3_600_000;
/** Jobs that `web1` is a target of; between each two is one that it is not. */
const DEEDS = ['returned', 'failed', 'late', 'never', 'waiting'] as const;
const JOBS = 20;

const deedOf = (number: number) => DEEDS[number % DEEDS.length] ?? 'waiting';
const funOf = (number: number) => (number % 3 === 0 ? 'state.apply' : 'test.ping');

function jobOf(number: number): JobRow {
  const isOpen = deedOf(number) === 'waiting';
  return {
    ...jobRow(jidAt(number * 2), { minions: ['db1', 'web1'] }),
    fun: funOf(number),
    publishedAt: at(number * 2),
    deadlineAt: isOpen ? Date.now() + HOUR_MS : at(number * 2) + 10_000,
    hidden: number === 7,
  };
}

function returnOf(number: number): ReturnRow[] {
  const deed = deedOf(number);
  if (deed === 'never' || deed === 'waiting') return [];
  const retcode = deed === 'failed' ? 3 : 0;
  const jid = jidAt(number * 2);
  const load = returnLoad(jid, 'web1', number, { retcode, success: retcode === 0 });
  const receivedAt = at(number * 2) + (deed === 'late' ? 20_000 : 1_000);
  return [returnRow(jid, 'web1', number, { load, receivedAt, seq: number + 1 })];
}

const numbers = Array.from({ length: JOBS }, (_, number) => number);
/** It returned, and was no target. */
const GUEST = jidAt(1);

beforeAll(async () => {
  const others = numbers.map((number) => jobRow(jidAt(number * 2 + 1), { minions: ['db1'] }));
  await cache.saveJobs([...numbers.map(jobOf), ...others]);
  await cache.saveReturns([
    ...numbers.flatMap(returnOf),
    returnRow(GUEST, 'web1', 'x', { seq: 1_000, receivedAt: at(2) }),
  ]);
});

async function all(filter: MinionJobFilter, limit: number, id = 'web1') {
  const found = [];
  let before: string | undefined;
  for (;;) {
    const page = await cache.pages.minionJobs(id, filter, {
      limit,
      ...(before === undefined ? {} : { before }),
    });
    expect(page.jobs.length).toBeLessThanOrEqual(limit);
    found.push(...page.jobs);
    if (page.next === undefined) return found;
    before = page.next;
  }
}

const meant = (fits: (number: number) => boolean): string[] =>
  numbers.filter((number) => number !== 7 && fits(number)).map((number) => jidAt(number * 2));

describe('the jobs of a minion', () => {
  test.each([1, 3, 100])(
    'are those that it was a target of, or returned, newest first: %i a page',
    async (limit) => {
      const jids = (await all({}, limit)).map(({ jid }) => jid);
      expect(jids).toEqual([...meant(() => true), GUEST].sort().reverse());
    },
  );

  test('have its state, its retcode and the time of its return', async () => {
    const found = new Map((await all({}, 100)).map((one) => [one.jid, one]));
    for (const number of numbers.filter((one) => one !== 7)) {
      const [row] = returnOf(number);
      expect(found.get(jidAt(number * 2))).toMatchObject({
        fun: [funOf(number)],
        publishedAt: at(number * 2),
        state: deedOf(number),
        retcode: row === undefined ? undefined : deedOf(number) === 'failed' ? 3 : 0,
        receivedAt: row?.receivedAt,
        load: undefined,
      });
    }
  });

  test.each(DEEDS)('are filtered by state: %s', async (state) => {
    const found = (await all({ state }, 2)).filter(({ jid }) => jid !== GUEST);
    const jids = found.map(({ jid }) => jid);
    expect(jids).toEqual(meant((number) => deedOf(number) === state).reverse());
  });

  test('are filtered by function', async () => {
    const jids = (await all({ fun: 'state.*' }, 2)).map(({ jid }) => jid);
    expect(jids).toEqual(meant((number) => number % 3 === 0).reverse());
    expect(await all({ fun: 'x' }, 2)).toEqual([]);
    expect(await all({}, 2, 'none')).toEqual([]);
  });

  test('have what judges a reader if that is asked for, without long arguments', async () => {
    const minions = ['judged'];
    const save = (minute: number, fun: SaltValue, arg: SaltValue) => {
      const load = mapOf({ fun, arg });
      const row = jobRow(jidAt(minute), { minions });
      return cache.saveJobs([{ ...row, load: pack(load) }]);
    };
    const long = 'x'.repeat(8_192);
    await save(101, 'cmd.run', ['id', new Map([['__kwarg__', true]])]);
    await save(102, ['test.ping', 'cmd.run'], [[], [long]]);
    const [second, first] = await all({ judged: true }, 5, 'judged');
    expect(first?.load).toEqual(
      mapOf({ fun: 'cmd.run', arg: ['id', new Map([['__kwarg__', true]])] }),
    );
    expect(second?.load).toEqual(mapOf({ fun: ['test.ping', 'cmd.run'] }));
  });
});

describe('the newest return of a minion for a function', () => {
  const fun = 'schedule.list';
  const give = (minute: number, value: SaltValue, retcode: number) => {
    const jid = jidAt(minute);
    const load = returnLoad(jid, 'm', value, { fun, retcode, success: retcode === 0 });
    return returnRow(jid, 'm', value, { load, seq: 2_000 + minute, receivedAt: at(minute) });
  };

  test('is the last one that did not fail', async () => {
    await cache.saveReturns([give(201, 'old', 0), give(202, 'new', 0), give(203, 'failed', 1)]);
    const found = await cache.pages.newestReturn('m', fun);
    expect(found).toMatchObject({ jid: jidAt(202), receivedAt: at(202) });
    expect(found?.load.get('return')).toBe('new');
    expect(await cache.pages.newestReturn('m', 'beacons.list')).toBeUndefined();
    expect(await cache.pages.newestReturn('web1', fun)).toBeUndefined();
  });

  test('is read by the index of ids', async () => {
    const { rows } = await pool.query<{ 'QUERY PLAN': string }>(
      `EXPLAIN SELECT jid FROM brine.returns WHERE id = 'm' ORDER BY jid DESC LIMIT 5000`,
    );
    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).not.toContain('Seq Scan');
  });
});
