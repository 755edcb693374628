import { startNats, type TestNats } from '@brine/testing';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Bus } from '../connection/connect.ts';
import { announceCommits, CommitWatch, runsOf } from './commit-notice.ts';

let nats: TestNats;
let store: Bus;
let worker: Bus;
let watch: CommitWatch | undefined;

beforeAll(async () => {
  nats = await startNats({ streams: false });
  [store, worker] = [await nats.connect('job-cache-returner'), await nats.connect('worker-pool')];
}, 600_000);

afterEach(() => {
  watch?.close();
  watch = undefined;
});
afterAll(() => nats.close());

async function open(): Promise<CommitWatch> {
  const opened = new CommitWatch(worker);
  watch = opened;
  await worker.flush();
  return opened;
}

test('neighbours become runs, whatever order they come in', () => {
  expect(runsOf([7, 3, 4, 5, 4, 9])).toEqual([
    [3, 5],
    [7, 7],
    [9, 9],
  ]);
  expect(runsOf([])).toEqual([]);
});

test('a wait for a position ends with its notice, and no other wait does', async () => {
  const commits = await open();
  const waits = [commits.committed(10, 5_000), commits.committed(12, 5_000)];
  const other = commits.committed(13, 300);
  announceCommits(store, [12, 10, 9]);
  expect(await Promise.all(waits)).toEqual([true, true]);
  expect(await other).toBe(false);
  expect(commits.size).toBe(0);
});

test('a commit that was announced before the wait began is known', async () => {
  const commits = await open();
  const before = commits.committed(20, 5_000);
  announceCommits(store, [20, 21]);
  await before;
  expect(await commits.committed(21, 1)).toBe(true);
});

test('a notice that the store never sends is ignored', async () => {
  const commits = await open();
  const wait = commits.committed(30, 500);
  const texts = ['', 'x', '{}', '[30]', '[[30,29]]', '[[1,1000000]]', '[[0,1e99]]', '[[29.5,31]]'];
  for (const text of texts) {
    store.connection.publish('brine.committed', text);
  }
  expect(await wait).toBe(false);
});

test('a wait that is left at the end resolves with false', async () => {
  const commits = await open();
  const wait = commits.committed(40, 60_000);
  commits.close();
  expect(await wait).toBe(false);
});
