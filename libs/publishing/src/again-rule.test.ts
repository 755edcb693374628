import type { Again } from '@brine/bus/jobs';
import type { Job } from '@brine/job';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { AgainRule, burstWindow, MAX_NAMED, RecentJobs, startWindow } from './again-rule.ts';

let now: number;
let jobs: RecentJobs;
let stored: (Again & { slot: string })[];

beforeEach(() => {
  vi.useFakeTimers();
  now = Date.now();
  jobs = new RecentJobs();
  stored = [];
});

afterEach(() => {
  vi.useRealTimers();
});

const publications = {
  storedJob: () => Promise.reject(new Error('not asked for')),
  appendAgain: (again: Again, { slot }: { slot: string }) => {
    stored.push({ ...again, slot });
    return Promise.resolve();
  },
};

function job(jid: string, atMs: number, more: Partial<Job> = {}): void {
  const record: Job = {
    jid,
    publication: new Uint8Array(1),
    load: new Uint8Array(0),
    principal: '',
    user: 'root',
    fun: 'test.ping',
    tgt: '*',
    tgtType: 'glob',
    minions: ['a'],
    missing: [],
    publishedAt: atMs,
    deadlineAt: atMs + 3_600_000,
    notAfter: atMs + 30_000,
    hidden: false,
    host: 'h',
    requestId: jid,
    ...more,
  };
  jobs.note(record, jobs.count + 1, atMs * 1000);
}

/** Jobs that one minion has not returned. */
function waits(...jids: string[]): ReadonlyMap<string, readonly string[]> {
  return new Map(jids.map((jid) => [jid, ['a']]));
}

test('after a start unreturned jobs are stored again at 3, 7 and 12 s, in slots of their own', async () => {
  const rule = new AgainRule(jobs, publications, () => Promise.resolve(waits('early', 'new')));
  job('old', now - 5_000);
  job('early', now - 1_000);
  job('returned', now - 500);
  rule.open(startWindow(now));
  await vi.advanceTimersByTimeAsync(1_000);
  job('new', now + 1_000);
  expect(stored).toEqual([]);
  await vi.advanceTimersByTimeAsync(2_100);
  expect(stored.map(({ jid }) => jid)).toEqual(['early', 'new']);
  await vi.advanceTimersByTimeAsync(9_000);
  expect(stored.filter(({ jid }) => jid === 'new')).toHaveLength(3);
  expect(new Set(stored.map(({ slot }) => slot)).size).toBe(3);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(stored).toHaveLength(6);
});

test('a job that several publishers died over is stored again, for 30 s whatever its time', async () => {
  const rule = new AgainRule(jobs, publications, () => Promise.resolve(undefined));
  job('before', now - 31_000, { notAfter: now + 60_000 });
  job('expired', now - 28_000);
  job('oldest', now - 25_000);
  rule.open(startWindow(now));
  await vi.advanceTimersByTimeAsync(15_000);
  expect(stored.map(({ jid }) => jid)).toEqual(['oldest']);
});

test('few that have not returned are named, many are not', async () => {
  const many = Array.from({ length: MAX_NAMED + 1 }, (_, n) => `m${n}`);
  const waiting = new Map([
    ['few', many.slice(1)],
    ['many', many],
  ]);
  const rule = new AgainRule(jobs, publications, () => Promise.resolve(waiting));
  job('few', now, { minions: [...many, 'returned'] });
  job('many', now, { minions: [...many, 'returned'] });
  await rule.look(now - 1_000);
  expect(stored.map(({ jid, waiting: named }) => [jid, named])).toEqual([
    ['few', many.slice(1)],
    ['many', undefined],
  ]);
});

test('without an answer of the store all are stored again', async () => {
  const rule = new AgainRule(jobs, publications, () => Promise.resolve(undefined));
  job('a', now);
  job('b', now);
  await rule.look(now - 1_000);
  expect(stored.map(({ jid }) => jid)).toEqual(['a', 'b']);
});

test('a job that more than 80 others followed is not stored again, nor hidden and expired ones', async () => {
  const rule = new AgainRule(jobs, publications, () => Promise.resolve(undefined));
  job('far', now);
  for (let n = 0; n < 79; n++) job(`j${String(n)}`, now, { hidden: true });
  job('expired', now, { notAfter: now - 1 });
  await rule.look(now - 1_000);
  expect(stored).toEqual([]);
  job('near', now);
  await rule.look(now - 1_000);
  expect(stored.map(({ jid }) => jid)).toEqual(['near']);
});

test('a window that is asked for while one is open comes after it, once', async () => {
  const rule = new AgainRule(jobs, publications, () => Promise.resolve(undefined));
  rule.open(startWindow(now));
  await vi.advanceTimersByTimeAsync(11_500);
  // Deaf since the start, and back when all but the last look are over.
  job('late', now + 11_000, { notAfter: now + 60_000 });
  rule.open(burstWindow(now + 11_500));
  rule.open(burstWindow(now + 11_500));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(stored).toHaveLength(1);
  expect(rule.stats.windows).toBe(2);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(stored.map(({ jid }) => jid)).toEqual(['late', 'late', 'late', 'late']);
  expect(rule.stats.windows).toBe(2);
});

test('the window of a start reaches back as far when a burst came before it', async () => {
  const rule = new AgainRule(jobs, publications, () => Promise.resolve(waits('dead', 'new')));
  job('dead', now - 20_000, { notAfter: now + 60_000 });
  job('new', now, { notAfter: now + 60_000 });
  rule.open(burstWindow(now));
  rule.open(startWindow(now));
  await vi.advanceTimersByTimeAsync(3_500);
  expect(stored.map(({ jid }) => jid)).toEqual(['new', 'dead', 'new']);
});

test('while a window is open no burst opens one, and a closed rule opens none', async () => {
  const rule = new AgainRule(jobs, publications, () => Promise.resolve(undefined));
  job('a', now);
  rule.open(startWindow(now));
  rule.open(burstWindow(now));
  expect(rule.stats.windows).toBe(1);
  await vi.advanceTimersByTimeAsync(3_500);
  expect(stored).toHaveLength(1);
  rule.close();
  await vi.advanceTimersByTimeAsync(20_000);
  rule.open(startWindow(Date.now()));
  expect(stored).toHaveLength(1);
  expect(rule.stats.windows).toBe(1);
});
