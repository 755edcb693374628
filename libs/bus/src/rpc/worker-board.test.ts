import { expect, test } from 'vitest';
import type { Announcement } from './worker-board.ts';
import { packAnnouncement, readAnnouncement, WorkerBoard } from './worker-board.ts';

const none: ReadonlySet<string> = new Set();

function idle(hand = 0, room = 10): Announcement {
  const load = { hand, room, concurrency: 4 };
  return { host: 'h', draining: false, load: { auth: load, clear: load, aes: load } };
}

test('an announcement comes back as it was packed, anything else does not', () => {
  const text = packAnnouncement(idle(3));
  expect(readAnnouncement(Buffer.from(text))).toEqual({ reads: 1, ...idle(3) });
  expect(readAnnouncement(Buffer.from('{}'))).toBeUndefined();
  expect(readAnnouncement(Buffer.from('no json'))).toBeUndefined();
});

test('the less loaded of two is chosen', () => {
  const board = new WorkerBoard();
  board.announced('busy', idle(8), 0);
  board.announced('free', idle(1), 0);
  const chosen = Array.from({ length: 200 }, () => board.choose('clear', none, 100)?.id);
  const free = chosen.filter((id) => id === 'free').length;
  // Both draws hit the busy one in a quarter of the cases.
  expect(free).toBeGreaterThan(110);
});

test('requests that come together go to one worker, up to a number and for a time', () => {
  const board = new WorkerBoard();
  for (const id of ['a', 'b', 'c', 'd']) board.announced(id, idle(0, 1_000), 0);
  const runs = (gapMs: number): number => {
    const chosen = Array.from({ length: 320 }, (_, n) => board.choose('aes', none, n * gapMs)?.id);
    return chosen.filter((id, n) => id !== chosen[n - 1]).length;
  };
  // Ten groups of 32 where all come at once, a draw of four for each where none comes near.
  expect(runs(0)).toBeLessThanOrEqual(10);
  expect(runs(5)).toBeGreaterThan(150);
});

test('requests that come together and find no room at one worker go to another', () => {
  const twice = (): boolean => {
    const board = new WorkerBoard();
    for (const id of ['a', 'b']) board.announced(id, idle(0, 1_000), 0);
    const first = board.choose('aes', none, 1)?.id ?? '';
    for (let n = 0; n < 4; n += 1) board.count(first, 'aes', 1);
    const second = board.choose('aes', none, 1)?.id ?? '';
    expect(board.choose('aes', new Set([second]), 1)?.id).not.toBe(second);
    return second === first;
  };
  // Drawn again: it stays only if both draws hit the busy one, in a quarter of the cases.
  const stayed = Array.from({ length: 400 }, twice).filter((is) => is).length;
  expect(stayed).toBeLessThan(160);
});

test('requests that were sent since the last announcement count', () => {
  const board = new WorkerBoard();
  board.announced('w', idle(0, 2), 0);
  board.count('w', 'aes', 1);
  board.count('w', 'aes', 1);
  expect(board.choose('aes', none, 100)).toBeUndefined();
  board.announced('w', idle(0, 2), 1);
  expect(board.choose('aes', none, 100)).toBeUndefined();
  board.count('w', 'aes', -1);
  expect(board.choose('aes', none, 100)?.id).toBe('w');
});

test('a worker that missed an announcement comes after the others', () => {
  const board = new WorkerBoard();
  board.announced('late', idle(), 0);
  expect(board.choose('aes', none, 2_000)?.id).toBe('late');
  board.announced('fresh', idle(5), 1_000);
  const chosen = Array.from({ length: 100 }, () => board.choose('aes', none, 2_000)?.id);
  expect(new Set(chosen)).toEqual(new Set(['fresh']));
});

test('a worker whose claim lapsed gets nothing until it is heard of', () => {
  const board = new WorkerBoard();
  board.announced('w', idle(), 0);
  board.suspect('w');
  expect(board.ready).toBe(false);
  expect(board.choose('aes', none, 100)).toBeUndefined();
  board.announced('w', idle(), 100);
  expect(board.choose('aes', none, 100)?.id).toBe('w');
});

test('a draining, a full, an excluded and a silent worker get nothing', () => {
  const board = new WorkerBoard();
  board.announced('draining', { ...idle(), draining: true }, 0);
  board.announced('full', idle(10), 0);
  board.announced('tried', idle(), 0);
  expect(board.choose('aes', new Set(['tried']), 100)).toBeUndefined();
  expect(board.choose('aes', none, 100)?.id).toBe('tried');
  board.forgetSilent(2_600);
  expect(board.choose('aes', none, 2_600)).toBeUndefined();
  expect(board.ready).toBe(false);
});
