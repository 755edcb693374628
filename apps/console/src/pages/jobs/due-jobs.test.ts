import type { JobLine, JobsPage, Ledger } from '@brine/api/jobs';
import type { InfiniteData } from '@tanstack/react-query';
import { expect, test } from 'vitest';
import { dueJobs, withJob } from './due-jobs.ts';
import { freshJobs } from './fresh-jobs.ts';

const NOW = Date.parse('2026-01-01T12:00:00.000Z');

const ledger = (waiting: number): Ledger => ({
  targeted: 3,
  waiting,
  returned: 3 - waiting,
  failed: 0,
  late: 0,
  never: 0,
  unexpected: 0,
});

/** A job whose deadline is at a time from now. */
function job(jid: string, leftMs: number | undefined, waiting = 1): JobLine {
  const deadline = leftMs === undefined ? null : new Date(NOW + leftMs).toISOString();
  const published = '2026-01-01T11:59:00.000Z';
  return { jid, fun: ['test.ping'], published, deadline, counts: ledger(waiting) };
}

const NEVER = new Map<string, number>();

test('a job is due a little after its deadline, while minions are awaited', () => {
  const jobs = [job('1', -1_000), job('2', -1_000, 0), job('3', undefined), job('4', 9_500)];
  expect(dueJobs(jobs, NEVER, NOW)).toEqual({ now: ['1'], nextMs: 10_000 });
  expect(dueJobs([job('1', 0)], NEVER, NOW)).toEqual({ now: [], nextMs: 500 });
  expect(dueJobs([job('2', -1_000, 0)], NEVER, NOW)).toEqual({ now: [], nextMs: undefined });
});

test('a master whose clock is behind is asked again, but not for good', () => {
  expect(dueJobs([job('1', -1_000)], new Map([['1', 1]]), NOW)).toEqual({ now: [], nextMs: 4_500 });
  expect(dueJobs([job('1', -6_000)], new Map([['1', 1]]), NOW).now).toEqual(['1']);
  const wornOut = dueJobs([job('1', -3_600_000)], new Map([['1', 12]]), NOW);
  expect(wornOut).toEqual({ now: [], nextMs: undefined });
});

test('of many due jobs some are asked for, the others at once after them', () => {
  const jobs = Array.from({ length: 100 }, (_, at) => job(String(at), -60_000));
  const { now, nextMs } = dueJobs(jobs, NEVER, NOW);
  expect(now).toHaveLength(10);
  expect(nextMs).toBe(0);
});

test('what is known of a job is put in its row, in its place', () => {
  const items = [job('3', -1_000), job('2', -1_000), job('1', -1_000)];
  const data = { pages: [{ items, next: null }], pageParams: [''] } as unknown;
  const known = { ...job('2', -1_000), counts: { ...ledger(0), returned: 2, never: 1 } };
  const rows = withJob(data as InfiniteData<JobsPage>, known).pages.flatMap((page) => page.items);
  expect(rows.map(({ jid }) => jid)).toEqual(['3', '2', '1']);
  expect(rows.map(({ counts }) => counts.never)).toEqual([0, 1, 0]);
});

const page = (jids: readonly string[], next: string | null): JobsPage => ({
  items: jids.map((jid) => job(jid, undefined)),
  next,
});

test('new are the jobs of a filter that its list does not have', () => {
  const listed = new Set(['2', '1']);
  expect(freshJobs(page(['4', '3', '2'], 'x'), listed)).toEqual({ count: 2, isMore: false });
  expect(freshJobs(page(['2', '1'], null), listed)).toEqual({ count: 0, isMore: false });
  expect(freshJobs(page([], null), listed)).toEqual({ count: 0, isMore: false });
});

test('a page of new jobs alone has more behind it', () => {
  expect(freshJobs(page(['4', '3'], 'x'), new Set())).toEqual({ count: 2, isMore: true });
  expect(freshJobs(page(['4', '3'], null), new Set())).toEqual({ count: 2, isMore: false });
});
