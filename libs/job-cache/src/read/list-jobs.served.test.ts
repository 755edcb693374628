import { beforeAll, expect, test } from 'vitest';
import { jobCacheScene } from '../../test/job-cache-scene.ts';
import type { ListJobsOptions } from './list-jobs.ts';
import { LIST_QUERIES } from './list-jobs.ts';

const { cache, pool } = await jobCacheScene({ now: () => Date.UTC(2026, 10, 22) });

/** One job each second, from 2026-11-19 00:00 UTC on; one of 50,000 is of a rare function. */
const JOBS = 130_000;

beforeAll(async () => {
  for (const day of ['20261119', '20261120'])
    await pool.query('SELECT brine.ensure_day($1)', [day]);
  // 0x80 is an empty map of msgpack.
  await pool.query(
    `INSERT INTO brine.jobs (jid, load, load_raw, fun, tgt, origin)
     SELECT
       to_char(timestamp '2026-11-19' + n * interval '1 second', 'YYYYMMDDHH24MISS') || '000000',
       '{}', '\\x80',
       ARRAY[CASE WHEN n % 50000 = 7 THEN 'state.rare' ELSE 'test.ping' END], ARRAY['web*'], 0
     FROM generate_series(0, ${JOBS - 1}) AS n`,
  );
  await pool.query('ANALYZE brine.jobs');
}, 240_000);

async function all(options: ListJobsOptions): Promise<{ jids: string[]; pages: number }> {
  const jids: string[] = [];
  let pages = 0;
  let place: ListJobsOptions = {};
  for (;;) {
    const page = await cache.listJobs({ ...options, ...place });
    pages += 1;
    jids.push(...page.jobs.keys());
    if (page.next === undefined) return { jids, pages };
    place = options.oldestFirst === true ? { after: page.next } : { before: page.next };
  }
}

test('a search for a rare job ends, each page of it after a bounded look', async () => {
  const rare = { searchFunction: ['state.r*'] };
  const newest = await all(rare);
  expect(newest.jids).toEqual([
    '20261120034647000000',
    '20261119135327000000',
    '20261119000007000000',
  ]);
  expect(newest.pages).toBe(7);
  const oldest = await all({ ...rare, oldestFirst: true });
  expect(oldest.jids).toEqual([...newest.jids].reverse());
  expect(oldest.pages).toBe(7);
  const none = await all({ searchTarget: ['db*'], endTime: Date.UTC(2026, 10, 20) });
  expect(none).toEqual({ jids: [], pages: 5 });
});

test('every job is on one page, in both directions and between two times', async () => {
  const first = '20261120000000000000';
  const range = {
    startTime: Date.UTC(2026, 10, 20),
    endTime: Date.UTC(2026, 10, 20, 6),
    limit: 10_000,
  };
  const oldest = await all({ ...range, oldestFirst: true });
  expect(oldest.jids).toHaveLength(6 * 3600 + 1);
  expect(oldest.jids[0]).toBe(first);
  expect(oldest.jids).toEqual([...new Set(oldest.jids)].sort());
  expect((await all(range)).jids).toEqual(oldest.jids.reverse());
});

/** All nodes of a plan with the rows that each gave. */
interface Node {
  readonly 'Node Type': string;
  readonly 'Actual Rows': number;
  readonly Plans?: readonly Node[];
}

async function nodesOf(text: string, values: readonly unknown[]): Promise<Node[]> {
  const { rows } = await pool.query<{ 'QUERY PLAN': { Plan: Node }[] }>(
    `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
    [...values],
  );
  const flat = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(flat)];
  return rows[0]!['QUERY PLAN'].flatMap(({ Plan }) => flat(Plan));
}

const SCANS = ['Seq Scan', 'Index Scan', 'Index Only Scan', 'Bitmap Heap Scan'];

function rowsRead(nodes: readonly Node[]): number {
  const scans = nodes.filter((node) => SCANS.includes(node['Node Type']));
  return scans.reduce((sum, node) => sum + node['Actual Rows'], 0);
}

test('a page is read out of the index, as many rows as it shows', async () => {
  const nothing = [null, null, null, null];
  for (const queries of [LIST_QUERIES.newest, LIST_QUERIES.oldest]) {
    const nodes = await nodesOf(queries.page, [1000, ...nothing, null, null, null, false]);
    // One more row of each day: the days are merged.
    expect(rowsRead(nodes)).toBeGreaterThan(1_000);
    expect(rowsRead(nodes)).toBeLessThan(1_100);
    const last = await nodesOf(queries.last, [1000, ...nothing]);
    expect(rowsRead(last)).toBeLessThan(20_100);
    expect(last.map((node) => node['Node Type'])).toContain('Index Only Scan');
  }
});
