import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Wakeup } from './wakeup.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('a wake ends the wait and its timer', async () => {
  const news = new Wakeup();
  const waited = news.wait(50);
  news.wake();
  await waited;
  expect(vi.getTimerCount()).toBe(0);
});

test('a wake before the wait is not lost, and counts once', async () => {
  const news = new Wakeup();
  news.wake();
  news.wake();
  await news.wait();
  let ended = false;
  const waited = news.wait().then(() => (ended = true));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(ended).toBe(false);
  news.wake();
  await waited;
});

test('a wait ends by itself after its time, and a wake after it is for the next wait', async () => {
  const news = new Wakeup();
  const waited = news.wait(50);
  await vi.advanceTimersByTimeAsync(50);
  await waited;
  news.wake();
  await news.wait(50);
  expect(vi.getTimerCount()).toBe(0);
});

test('a wait for longer than a timer takes does not end at once', async () => {
  const news = new Wakeup();
  let ended = false;
  const waited = news.wait(2 ** 40).then(() => (ended = true));
  await vi.advanceTimersByTimeAsync(2 ** 31 - 2);
  expect(ended).toBe(false);
  news.wake();
  await waited;
});

test('a wake ends all waits', async () => {
  const news = new Wakeup();
  const waited = Promise.all([news.wait(), news.wait(50), news.wait()]);
  news.wake();
  await waited;
  expect(vi.getTimerCount()).toBe(0);
});
