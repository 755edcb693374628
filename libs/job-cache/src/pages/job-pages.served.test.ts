import type { JobOrigin } from '@brine/job';
import { jobRow, returnLoad, returnRow } from '@brine/testing';
import { mapOf, type SaltMap, type SaltValue, unpackMap } from '@brine/wire';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { jobCacheScene } from '../../test/job-cache-scene.ts';
import type { JobRow, ReturnRow } from '../save/rows.ts';
import type { JobFilter } from './job-rows.ts';

const { cache, pool } = await jobCacheScene();

const SECOND = 1_000;
const HOUR = 3_600_000;
/** Jobs of the last hours: those of even numbers are still open. */
const JOBS = 60;
const NOW = Date.now();
const MINIONS = ['db1', 'web1', 'web2', 'wéb "3"'];

function jidOf(number: number): string {
  const second = new Date(NOW - (JOBS - number) * 60 * SECOND);
  return `${second.toISOString().replace(/\D/g, '')}000`;
}

/** What minion `at` of a job does: returns, fails, is late, or nothing. */
const deedOf = (number: number, at: number) =>
  (['returned', 'failed', 'late', 'nothing'] as const)[(number * 7 + at * 3) % 4];

const isOpen = (number: number): boolean => number % 2 === 0;

function jobOf(number: number): JobRow {
  const publishedAt = NOW - (JOBS - number) * 60 * SECOND;
  const fun = number % 3 === 0 ? 'state.apply' : 'test.ping';
  return {
    ...jobRow(jidOf(number), { minions: MINIONS }),
    fun,
    principal: number % 5 === 0 ? 'anne' : 'root',
    user: number % 4 === 0 ? 'sudo_bob' : 'root',
    tgt: number % 2 === 0 ? '*' : 'web*',
    hidden: number % 10 === 9,
    origin: originOf(number),
    publishedAt,
    deadlineAt: isOpen(number) ? NOW + HOUR : publishedAt + 10 * SECOND,
  };
}

function originOf(number: number): JobOrigin | undefined {
  return ([undefined, 'api', 'cli'] as const)[number % 3];
}

function returnsOf(number: number): ReturnRow[] {
  const { jid, publishedAt } = jobOf(number);
  return MINIONS.flatMap((id, at): ReturnRow[] => {
    const deed = deedOf(number, at);
    if (deed === 'nothing') return [];
    const retcode = deed === 'failed' ? 2 : 0;
    const receivedAt = publishedAt + (deed === 'late' ? 20 : 1) * SECOND;
    const load = returnLoad(jid, id, number, { retcode, success: retcode === 0 });
    return [returnRow(jid, id, number, { load, receivedAt, seq: number * 10 + at + 1 })];
  });
}

const numbers = Array.from({ length: JOBS }, (_, number) => number);

beforeAll(async () => {
  await cache.saveJobs(numbers.map(jobOf));
  await cache.saveReturns(numbers.flatMap(returnsOf));
});

async function all(filter: JobFilter, limit: number): Promise<string[]> {
  const jids: string[] = [];
  let before: string | undefined;
  for (;;) {
    const page = await cache.pages.jobs(filter, {
      limit,
      ...(before === undefined ? {} : { before }),
    });
    expect(page.jobs.length).toBeLessThanOrEqual(limit);
    jids.push(...page.jobs.map(({ jid }) => jid));
    if (page.next === undefined) return jids;
    before = page.next;
  }
}

/** The numbers of jobs that a filter means, newest first, by what was written above. */
function meant(filter: JobFilter): string[] {
  const of = (number: number) => MINIONS.map((_, at) => stateOf(number, at));
  const fits = (number: number): boolean => {
    const job = jobOf(number);
    const states = of(number);
    const { state, result, origin } = filter;
    if (origin !== undefined && (originOf(number) ?? 'publication') !== origin) return false;
    if (filter.hidden !== true && job.hidden === true) return false;
    if (filter.principal !== undefined && job.principal !== filter.principal) return false;
    if (filter.user !== undefined && job.user !== filter.user) return false;
    const isOf = (glob: string): boolean => String(job.fun).startsWith(glob.replace('*', ''));
    if (filter.fun !== undefined && ![filter.fun].flat().some(isOf)) return false;
    if (filter.tgt !== undefined && job.tgt !== filter.tgt.replace('[*]', '*')) return false;
    if (filter.minion !== undefined && !MINIONS.includes(filter.minion)) return false;
    if (filter.from !== undefined && job.publishedAt < filter.from) return false;
    if (filter.to !== undefined && job.publishedAt >= filter.to) return false;
    if (state !== undefined && (state === 'open') !== states.includes('waiting')) return false;
    if (result === undefined) return true;
    if (result === 'ok') return states.every((one) => one === 'returned');
    return states.includes(result);
  };
  return numbers.filter(fits).reverse().map(jidOf);
}

function stateOf(number: number, at: number): string {
  const deed = deedOf(number, at);
  if (deed === 'nothing') return isOpen(number) ? 'waiting' : 'never';
  return deed === 'late' && isOpen(number) ? 'returned' : (deed ?? '');
}

const filters: fc.Arbitrary<JobFilter> = fc.record(
  {
    principal: fc.constantFrom('anne', 'root', 'nobody'),
    user: fc.constantFrom('root', 'sudo_bob'),
    fun: fc.constantFrom('state.*', 'test.ping', 'x*', ['x*', 'test.ping']),
    tgt: fc.constantFrom('[*]', 'web[*]'),
    minion: fc.constantFrom('web1', 'wéb "3"', 'db9'),
    origin: fc.constantFrom('api' as const, 'cli' as const, 'publication' as const),
    state: fc.constantFrom('open' as const, 'closed' as const),
    result: fc.constantFrom('ok' as const, 'failed' as const, 'late' as const, 'never' as const),
    from: fc.integer({ min: NOW - HOUR, max: NOW }),
    to: fc.integer({ min: NOW - HOUR, max: NOW }),
    hidden: fc.boolean(),
  },
  { requiredKeys: [] },
);

test('pages together have each job that a filter means, once, newest first', async () => {
  await fc.assert(
    fc.asyncProperty(filters, fc.integer({ min: 1, max: 70 }), async (filter, limit) => {
      expect(await all(filter, limit)).toEqual(meant(filter));
    }),
    { numRuns: 60 },
  );
});

test('a line has the counts of the ledger', async () => {
  const { jobs } = await cache.pages.jobs({ hidden: true }, { limit: 100 });
  expect(jobs).toHaveLength(JOBS);
  for (const { jid, ledger } of jobs) expect(ledger).toEqual(await cache.ledger(jid));
});

test('one job has its load, and an unknown one is none', async () => {
  const found = await cache.pages.job(jidOf(3));
  expect(found).toMatchObject({ jid: jidOf(3), fun: ['state.apply'], principal: 'root' });
  expect(found?.load).toEqual(unpackMap(jobOf(3).load));
  expect(await cache.pages.job(`${jidOf(3)}0`)).toBeUndefined();
  expect(await cache.pages.job('')).toBeUndefined();
});

describe('the minions of a job', () => {
  test('are in order, a page at a time, in their states', async () => {
    const jid = jidOf(5);
    const first = await cache.pages.minions(jid, {}, { limit: 3 });
    const rest = await cache.pages.minions(jid, {}, { limit: 3, after: first.next ?? '' });
    const found = [...first.minions, ...rest.minions];
    expect(found.map(({ id }) => id)).toEqual(MINIONS);
    expect(found.map(({ state }) => state)).toEqual(MINIONS.map((_, at) => stateOf(5, at)));
    expect(rest.next).toBeUndefined();
    for (const { state, receivedAt } of found)
      expect(receivedAt === undefined).toBe(state === 'never');
  });

  test('are filtered by state, a part of the id, and ids', async () => {
    const ids = async (filter: Parameters<typeof cache.pages.minions>[1]) =>
      (await cache.pages.minions(jidOf(5), filter, { limit: 10 })).minions.map(({ id }) => id);
    const failed = MINIONS.filter((_, at) => stateOf(5, at) === 'failed');
    expect(await ids({ state: 'failed' })).toEqual(failed);
    expect(await ids({ part: 'eb' })).toEqual(['web1', 'web2']);
    expect(await ids({ part: '%' })).toEqual([]);
    expect(await ids({ part: '"' })).toEqual(['wéb "3"']);
    expect(await ids({ ids: ['db1', 'x'] })).toEqual(['db1']);
  });
});

test('a return is as it was sent, with what else the minion gave', async () => {
  const [row] = returnsOf(5);
  if (row === undefined) throw new Error('job 5 has returns');
  const load = returnLoad(row.jid, row.id, 'other');
  await cache.saveReturns([{ ...row, load, seq: row.seq + 1_000 }]);
  const found = await cache.pages.return(row.jid, row.id);
  expect(found?.load).toEqual(unpackMap(row.load));
  expect(found?.receivedAt).toBe(row.receivedAt);
  expect(found?.evidence.map(({ load }) => load.get('return'))).toEqual(['other']);
  expect(await cache.pages.return(row.jid, 'nobody')).toBeUndefined();
});

describe('groups', () => {
  const jid = '20261120101010000000';
  const give = (id: string, value: string, retcode = 0) =>
    returnRow(jid, id, value, {
      load: returnLoad(jid, id, value, { retcode, success: retcode === 0 }),
    });

  beforeAll(async () => {
    const ids = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1', 'f1'];
    await cache.saveJobs([jobRow(jid, { minions: ids })]);
    await cache.saveReturns([
      ...['a1', 'a2', 'a3'].map((id) => give(id, 'same')),
      ...['b1', 'b2'].map((id) => give(id, 'two')),
      give('c1', 'one'),
      give('f1', 'same', 1),
    ]);
  });

  test.each(['exact', 'states'] as const)('by %s content, failed ones first', async (likeness) => {
    const { groups, more } = await cache.pages.groups(jid, { limit: 10, likeness });
    expect(groups.map(({ size, failed, sample }) => [size, failed, sample])).toEqual([
      [1, true, 'f1'],
      [1, false, 'c1'],
      [2, false, 'b1'],
      [3, false, 'a1'],
    ]);
    expect(new Set(groups.map(({ digest }) => digest)).size).toBe(4);
    expect(more).toBe(0);
  });

  test('are counted beyond the limit, and may be of some minions alone', async () => {
    expect(await cache.pages.groups(jid, { limit: 1, likeness: 'exact' })).toMatchObject({
      more: 3,
    });
    const some = await cache.pages.groups(jid, {
      limit: 10,
      likeness: 'states',
      ids: ['a1', 'b1'],
    });
    expect(some.groups.map(({ size }) => size)).toEqual([1, 1]);
    expect(await cache.pages.groups('none', { limit: 10, likeness: 'exact' })).toEqual({
      groups: [],
      more: 0,
      isWhole: true,
    });
  });
});

describe('runs of states', () => {
  const jid = '20261120111111000000';
  interface Given {
    readonly result?: boolean | null;
    readonly changes?: SaltMap;
    readonly comment?: string;
    readonly duration?: SaltValue;
  }
  const state = (name: string, given: Given = {}): [string, SaltMap] => [
    `file_|-${name}_|-/etc/${name}_|-managed`,
    mapOf({
      result: true,
      changes: mapOf({}),
      comment: 'in the correct state',
      duration: 12.5,
      start_time: '10:00:00.1',
      __run_num__: 1,
      ...given,
    }),
  ];
  const run = (id: string, seq: number, ...states: [string, SaltMap][]) => {
    const failed = states.some(([, one]) => one.get('result') === false);
    const value = new Map<SaltValue, SaltValue>(states);
    const load = returnLoad(jid, id, value, { retcode: failed ? 2 : 0, fun: 'state.apply' });
    return returnRow(jid, id, value, { load, seq });
  };
  const changed = mapOf({ diff: 'new file', size: 17 });

  beforeAll(async () => {
    await cache.saveJobs([jobRow(jid, { minions: ['m1', 'm2', 'm3', 'm4', 'm5'] })]);
    await cache.saveReturns([
      run('m1', 1, state('a'), state('b', { changes: changed })),
      // The same, in another order, with other times and numbers.
      run(
        'm2',
        2,
        state('b', { changes: mapOf({ diff: 'new file', size: 4_711 }), duration: '900.4 ms' }),
        state('a', { duration: 3 }),
      ),
      run('m3', 3, state('a', { result: false, comment: 'no such user' }), state('b')),
      run('m4', 4, state('a', { result: null }), state('c')),
      returnRow(jid, 'm5', ['Rendering SLS failed'], {
        load: returnLoad(jid, 'm5', ['Rendering SLS failed'], { retcode: 1 }),
        seq: 5,
      }),
    ]);
  });

  test('are alike whatever their times and numbers', async () => {
    const groups = await cache.pages.groups(jid, { limit: 10, likeness: 'states' });
    expect(groups.groups.map(({ size, failed, sample }) => [size, failed, sample])).toEqual([
      [1, true, 'm3'],
      [1, true, 'm5'],
      [1, false, 'm4'],
      [2, false, 'm1'],
    ]);
    expect(groups.isWhole).toBe(true);
    const exact = await cache.pages.groups(jid, { limit: 10, likeness: 'exact' });
    expect(exact.groups).toHaveLength(5);
  });

  test('are counted state by state, with the slowest minion of each', async () => {
    const found = await cache.pages.states(jid, { limit: 10 });
    const none = { ok: 0, changed: 0, failed: 0, would: 0 };
    expect(found).toEqual({
      minions: 4,
      states: [
        {
          ...none,
          id: 'file.managed a (/etc/a)',
          ok: 2,
          failed: 1,
          would: 1,
          slowestMs: 13,
          slowest: 'm1',
        },
        {
          ...none,
          id: 'file.managed b (/etc/b)',
          ok: 1,
          changed: 2,
          slowestMs: 900,
          slowest: 'm2',
        },
        { ...none, id: 'file.managed c (/etc/c)', ok: 1, slowestMs: 13, slowest: 'm4' },
      ],
      more: 0,
      isWhole: true,
    });
    expect((await cache.pages.states(jid, { limit: 1 })).more).toBe(2);
    const some = await cache.pages.states(jid, { limit: 10, ids: ['m4'] });
    expect(some.states.map(({ id }) => id)).toEqual([
      'file.managed a (/etc/a)',
      'file.managed c (/etc/c)',
    ]);
  });

  test('are read again where another return counts now, and are gone with their day', async () => {
    await cache.saveReturns([run('m3', 0, state('a'), state('b', { changes: changed }))]);
    const { groups } = await cache.pages.groups(jid, { limit: 10, likeness: 'states' });
    expect(groups.map(({ size, sample }) => [size, sample])).toEqual([
      [1, 'm5'],
      [1, 'm4'],
      [3, 'm1'],
    ]);
    await cache.dropOlderThan(Date.UTC(2026, 10, 22));
    const { rows } = await pool.query<{ left: string }>(
      `SELECT jid AS left FROM brine.digests WHERE jid = $1 UNION
       SELECT jid FROM brine.state_lists WHERE jid = $1`,
      [jid],
    );
    expect(rows).toEqual([]);
  });
});

describe('numbers of jobs', () => {
  test('are of the last hour by minutes, and of those that are open', async () => {
    const shown = numbers.filter((number) => number % 10 !== 9);
    for (const principal of [undefined, 'anne', 'nobody']) {
      const found = await cache.pages.numbers(principal);
      const all = shown.filter((n) => principal === undefined || jobOf(n).principal === principal);
      const late = all.filter((number) => jidOf(number) >= jidOf(1));
      const minutes = found.minutes.filter(({ minute }) => minute >= jidOf(1).slice(0, 12));
      expect(minutes.reduce((sum, { jobs }) => sum + jobs, 0)).toBe(late.length);
      const returned = late.flatMap(returnsOf);
      expect(minutes.reduce((sum, { returns }) => sum + returns, 0)).toBe(returned.length);
      const failed = late.flatMap((n) => MINIONS.filter((_, at) => deedOf(n, at) === 'failed'));
      expect(minutes.reduce((sum, one) => sum + one.failed, 0)).toBe(failed.length);
      const waits = all.filter((n) => isOpen(n) && returnsOf(n).length < MINIONS.length);
      expect(found.open).toBe(waits.length);
      expect(found.isWhole).toBe(true);
    }
  });
});

describe('runs of states before', () => {
  const jid = (second: number) =>
    `${new Date(NOW - second * SECOND).toISOString().replace(/\D/g, '')}900`;
  const of = (result: boolean | null) => mapOf({ result, changes: mapOf({}) });
  const run = (
    second: number,
    id: string,
    more: Readonly<Record<string, SaltValue>>,
  ): ReturnRow => {
    const { value = mapOf({ a: of(true) }), ...rest } = more;
    const load = returnLoad(jid(second), id, value, { fun: 'state.apply', retcode: 0, ...rest });
    return returnRow(jid(second), id, 0, { load, receivedAt: NOW, seq: 90_000 + second });
  };
  const FUNS = ['state.apply', 'state.highstate', 'state.sls'];

  /** All of them, as by who reads on until the end. */
  async function read() {
    const runs = [];
    let place: { readonly jid: string; readonly id: string } | undefined;
    let questions = 0;
    do {
      const page = await cache.pages.pastRuns(FUNS, place);
      runs.push(...page.runs);
      place = page.next;
      questions += 1;
    } while (place !== undefined);
    return { runs, questions };
  }

  test('come newest first, tests among them with what would change', async () => {
    await pool.query('DELETE FROM brine.returns');
    const would = mapOf({ a: of(null), b: of(true), c: of(null), d: 'no state' });
    await cache.saveReturns([
      run(5, 'web1', {}),
      run(4, 'web2', { fun: 'state.highstate', retcode: 2 }),
      run(3, 'web1', { fun_args: ['mods', 'test=True'], value: would }),
      run(2, 'web2', { fun_args: [mapOf({ __kwarg__: true, test: true })], value: ['an error'] }),
      run(1, 'web3', { fun_args: [mapOf({ test: false })] }),
      run(0, 'web3', { fun: 'test.ping' }),
    ]);
    const { runs } = await read();
    expect(runs.map((one) => [one.id, one.failed, one.isTest, one.would])).toEqual([
      ['web3', false, false, undefined],
      ['web2', false, true, undefined],
      ['web1', false, true, 2],
      ['web2', true, false, undefined],
      ['web1', false, false, undefined],
    ]);
    expect(runs[0]).toMatchObject({ jid: jid(1), at: NOW });
  });

  test('come by and by among many other returns, each once', async () => {
    await pool.query('DELETE FROM brine.returns');
    const all = Array.from({ length: 450 }, (_, n) =>
      run(10 + (n >> 2), `m${n % 4}`, { fun: n % 9 === 0 ? 'state.sls' : 'test.ping', seq: n }),
    );
    await cache.saveReturns(all.map((row, seq) => ({ ...row, seq })));
    const { runs, questions } = await read();
    expect(questions).toBe(3);
    expect(new Set(runs.map(({ jid: of, id }) => `${of} ${id}`)).size).toBe(50);
    expect(runs).toHaveLength(50);
    const jids = runs.map(({ jid: of }) => of);
    expect(jids).toEqual([...jids].sort().reverse());
  });

  test('of more than a week ago, and of jobs without a time, are not looked at', async () => {
    await pool.query('DELETE FROM brine.returns');
    const old = run(8 * 24 * 3_600, 'web1', {});
    await cache.saveReturns([old, { ...run(1, 'web2', {}), jid: 'zz-odd' }, run(2, 'web3', {})]);
    expect((await read()).runs.map(({ id }) => id)).toEqual(['web3']);
  });
});
