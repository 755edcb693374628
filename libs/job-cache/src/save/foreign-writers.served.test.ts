import type { TestPostgres } from '@brine/testing';
import { endPool, jobRow, returnRow, startPostgres } from '@brine/testing';
import { isMap } from '@brine/wire';
import { hasFailed } from '@brine/wire/load';
import { fromJson } from '@brine/wire/text';
import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { JobCache } from '../job-cache.ts';
import type { JobRow } from './rows.ts';

let server: TestPostgres;
let cache: JobCache;
let pool: pg.Pool;
let jids = 0;

beforeAll(async () => {
  server = await startPostgres();
  cache = await JobCache.connect(server.url);
  pool = new pg.Pool({ connectionString: server.url, max: 4 });
});

afterAll(async () => {
  await cache.close();
  await endPool(pool);
  await server.stop();
});

const published = (jid: string): JobRow => jobRow(jid, { deadlineAt: Date.now() + 60_000 });

const newJid = (): string => `202611201000000${String((jids += 1)).padStart(5, '0')}`;

/** As salt/returners/pgjsonb.py writes a return. */
async function foreignReturn(
  full: Readonly<Record<string, unknown>>,
  options: { readonly at?: number; readonly by?: pg.Pool } = {},
): Promise<void> {
  await (options.by ?? pool).query(
    `INSERT INTO salt_returns (fun, jid, return, id, success, full_ret, alter_time)
     VALUES ($1, $2, $3, $4, $5, $6, to_timestamp($7))`,
    [
      full['fun'],
      full['jid'],
      JSON.stringify(full['return']),
      full['id'],
      full['success'] ?? false,
      JSON.stringify(full),
      options.at ?? Date.now() / 1000,
    ],
  );
}

/** As salt/returners/pgjsonb.py writes a load. */
async function foreignLoad(jid: string, load: object): Promise<void> {
  await pool.query(
    'INSERT INTO jids (jid, load) VALUES ($1, $2) ON CONFLICT (jid) DO UPDATE SET load=$2',
    [jid, JSON.stringify(load)],
  );
}

const returned = (jid: string, value: unknown): Record<string, unknown> => ({
  jid,
  id: 'm1',
  fun: 'test.ping',
  fun_args: [],
  return: value,
  retcode: 0,
  success: true,
});

async function evidenceOf(jid: string): Promise<unknown[]> {
  const { rows } = await pool.query<{ value: unknown }>(
    "SELECT full_ret->'return' AS value FROM brine.evidence WHERE jid = $1 ORDER BY 1",
    [jid],
  );
  return rows.map(({ value }) => value);
}

const valueOf = async (jid: string): Promise<unknown> =>
  (await cache.getJid(jid)).returns.get('m1')?.get('return');

test('a return that a minion writes twice, by two relays, counts once', async () => {
  const jid = newJid();
  await cache.saveJobs([published(jid)]);
  await Promise.all([1, 2, 3].map(() => foreignReturn(returned(jid, { a: 1 }))));
  const job = await cache.getJob(jid);
  expect(job?.ledger).toMatchObject({ targeted: 3, returned: 1, evidence: 0 });
});

test('a different second return becomes evidence without an error, up to eight', async () => {
  const jid = newJid();
  await foreignReturn(returned(jid, 'first'));
  for (let n = 0; n < 12; n += 1) await foreignReturn(returned(jid, `other ${n % 10}`));
  expect(await valueOf(jid)).toBe('first');
  expect(await evidenceOf(jid)).toHaveLength(8);
});

test.each(['stream first', 'minion first'])(
  'a return that comes both ways counts once, and metrics count it: %s',
  async (order) => {
    const jid = newJid();
    const counted = async (): Promise<number> => {
      const { rows } = await pool.query<{ sum: number | null }>(
        "SELECT sum(value) FROM brine.counters WHERE metric = 'returns'",
      );
      return rows[0]?.sum ?? 0;
    };
    const before = await counted();
    await cache.saveJobs([published(jid)]);
    const ways = [
      () => cache.saveReturns([returnRow(jid, 'm1', ['x', 1.5])]),
      () => foreignReturn(returned(jid, ['x', 1.5])),
    ];
    if (order === 'minion first') ways.reverse();
    for (const way of ways) await way();
    const { rows } = await pool.query('SELECT incarnation FROM brine.returns WHERE jid = $1', [
      jid,
    ]);
    expect(rows).toEqual([{ incarnation: expect.not.stringContaining('~') as string }]);
    expect((await cache.getJob(jid))?.ledger).toMatchObject({ returned: 1, evidence: 0 });
    expect(await counted()).toBe(before + 1);
  },
);

test.each(['stream first', 'minion first'])(
  'where both differ, the stream counts and the other is evidence: %s',
  async (order) => {
    const jid = newJid();
    const ways = [
      () => cache.saveReturns([returnRow(jid, 'm1', 'by the master')]),
      () => foreignReturn(returned(jid, 'by itself')),
    ];
    if (order === 'minion first') ways.reverse();
    for (const way of ways) await way();
    expect(await valueOf(jid)).toBe('by the master');
    expect(await evidenceOf(jid)).toEqual(['by itself']);
  },
);

test('a return without a published job makes its job', async () => {
  const jid = newJid();
  await foreignReturn(returned(jid, 1));
  await cache.adoptOrphans(0);
  const job = await cache.getJob(jid);
  expect(job).toMatchObject({ origin: 'return', fun: ['test.ping'], minions: ['m1'] });
  expect(job?.ledger).toMatchObject({ targeted: 1, returned: 1, unexpected: 0 });
});

test('a clock that is ahead makes no return late, and failures are seen', async () => {
  const jid = newJid();
  await cache.saveJobs([published(jid)]);
  const ahead = Date.now() / 1000 + 3600;
  await foreignReturn({ ...returned(jid, false), retcode: 2 }, { at: ahead });
  expect((await cache.getJob(jid))?.ledger).toMatchObject({ failed: 1, late: 0, waiting: 2 });
});

test('failure is judged in SQL as it is judged here', async () => {
  const scalar = fc.oneof(
    fc.integer({ min: -1, max: 2 }),
    fc.boolean(),
    fc.constantFrom(null, '0', 'x', 0.5),
  );
  const field = fc.oneof(
    scalar,
    fc.array(scalar, { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('test.ping', 'a'), scalar, { maxKeys: 2 }),
  );
  const full = fc.record({ retcode: field, success: field, return: scalar }, { requiredKeys: [] });
  await fc.assert(
    fc.asyncProperty(full, async (given) => {
      const load = fromJson(JSON.parse(JSON.stringify(given)));
      const { rows } = await pool.query<{ failed: boolean }>('SELECT brine.has_failed($1) failed', [
        JSON.stringify(given),
      ]);
      expect(rows[0]?.failed).toBe(isMap(load) && hasFailed(load));
    }),
    { numRuns: 200 },
  );
});

test('several syndics write one jid, and none changes the published job', async () => {
  const jid = newJid();
  await cache.saveJobs([jobRow(jid)]);
  await Promise.all(['a', 'b', 'c'].map((user) => foreignLoad(jid, { fun: 'x.y', user, jid })));
  await foreignLoad(jid, returned(jid, 'x'));
  expect(await cache.getJob(jid)).toMatchObject({ origin: 'publication', fun: ['test.ping'] });
  expect((await cache.getLoad(jid))?.get('user')).toBe('root');
});

test("a stock master's save_load for each return leaves the load of the job", async () => {
  const [loaded, born] = [newJid(), newJid()];
  await foreignLoad(loaded, { jid: loaded, fun: 'test.ping', tgt: 'm*', arg: [1] });
  await foreignLoad(loaded, returned(loaded, 'x'));
  expect((await cache.getLoad(loaded))?.get('arg')).toEqual([1]);
  // The return comes before its load: another syndic was quicker.
  await foreignLoad(born, returned(born, 'x'));
  expect(await cache.getJob(born)).toMatchObject({ origin: 'return', tgt: ['m1'] });
  await foreignLoad(born, { jid: born, fun: 'test.ping', tgt: 'm*', arg: [] });
  expect(await cache.getJob(born)).toMatchObject({ origin: 'pgjsonb', tgt: ['m*'] });
  await cache.saveJobs([jobRow(born)]);
  expect(await cache.getJob(born)).toMatchObject({ origin: 'publication', tgt: ['*'] });
});

test('a role of minions needs no rights but on what pgjsonb names', async () => {
  const superuser = new pg.Client({ connectionString: server.superuserUrl });
  await superuser.connect();
  await superuser.query("CREATE ROLE minions LOGIN PASSWORD 'secret'");
  await superuser.end();
  await pool.query(`GRANT INSERT ON salt_returns TO minions;
    GRANT SELECT, INSERT, UPDATE ON jids TO minions`);
  const url = new URL(server.url);
  url.username = 'minions';
  url.password = 'secret';
  const minions = new pg.Pool({ connectionString: url.href, max: 1 });
  try {
    const jid = newJid();
    await foreignReturn(returned(jid, 'a'), { by: minions });
    await foreignReturn(returned(jid, 'b'), { by: minions });
    await minions.query(
      `INSERT INTO jids (jid, load) VALUES ($1, '{"fun": "a.b"}')
       ON CONFLICT (jid) DO UPDATE SET load = '{"fun": "a.b"}'`,
      [jid],
    );
    expect(await valueOf(jid)).toBe('a');
    await expect(minions.query('SELECT FROM brine.jobs')).rejects.toThrow(/permission denied/);
    await expect(minions.query('SELECT FROM salt_returns')).rejects.toThrow(/permission denied/);
  } finally {
    await endPool(minions);
  }
});

test('a deleted return takes its evidence with it', async () => {
  const jid = newJid();
  await foreignReturn(returned(jid, 'a'));
  await foreignReturn(returned(jid, 'b'));
  await pool.query('DELETE FROM salt_returns WHERE jid = $1', [jid]);
  expect(await evidenceOf(jid)).toEqual([]);
  expect(await valueOf(jid)).toBeUndefined();
});

test('a look-up by jid uses the key', async () => {
  const { rows } = await pool.query<{ 'QUERY PLAN': string }>(
    "EXPLAIN SELECT id, full_ret FROM salt_returns WHERE jid = '20261120100000000001'",
  );
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).toMatch(/Index Cond: \(jid = /);
});

test.each(['stream first', 'minion first'])(
  'with ext_job_cache: pgjsonb the content that the minion writes stands beside the count: %s',
  async (order) => {
    const counting = await JobCache.connect(server.url, { keepReturns: false });
    try {
      const jid = newJid();
      await cache.saveJobs([published(jid)]);
      const ways = [
        () => counting.saveReturns([returnRow(jid, 'm1', 'said')]),
        () => foreignReturn(returned(jid, 'said')),
      ];
      if (order === 'minion first') ways.reverse();
      for (const way of [...ways, ...ways]) await way();
      expect(await valueOf(jid)).toBe('said');
      expect((await cache.getJob(jid))?.ledger).toMatchObject({ returned: 1, evidence: 0 });
      const { rows } = await pool.query('SELECT raw FROM brine.returns WHERE jid = $1', [jid]);
      expect(rows).toEqual([{ raw: null }]);
    } finally {
      await counting.close();
    }
  },
);
