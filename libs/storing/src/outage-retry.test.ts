import { JobCacheError } from '@brine/job-cache';
import { expect, test } from 'vitest';
import { OutageRetry } from './outage-retry.ts';

function setUp(): { backoff: OutageRetry; seen: string[]; stop: AbortController } {
  const seen: string[] = [];
  const stop = new AbortController();
  const ports = {
    onOutage: (error: unknown) => seen.push(`away: ${(error as Error).message}`),
    onRecovered: () => seen.push('back'),
  };
  return { backoff: new OutageRetry(ports, stop.signal), seen, stop };
}

test('an outage is waited out and reported once', async () => {
  const { backoff, seen } = setUp();
  let tries = 0;
  const result = await backoff.retry(() => {
    tries += 1;
    if (tries < 3) return Promise.reject(new JobCacheError('SALT_JOBCACHE_AWAY', 'gone'));
    return Promise.resolve({ tries });
  });
  expect(result).toEqual({ tries: 3 });
  expect(seen).toEqual(['away: gone', 'back']);
  expect(backoff.waiting).toBe(false);
});

test('an error that is no outage is thrown', async () => {
  const { backoff } = setUp();
  const newer = new JobCacheError('SALT_JOBCACHE_SCHEMA_NEWER', 'newer');
  await expect(backoff.retry(() => Promise.reject(newer))).rejects.toBe(newer);
  await expect(backoff.retry(() => Promise.reject(new TypeError('a fault')))).rejects.toThrow(
    'fault',
  );
});

test('a stop ends the wait, and one more try is still made', async () => {
  const { backoff, stop } = setUp();
  const away = new JobCacheError('SALT_JOBCACHE_AWAY', 'gone');
  const waiting = backoff.retry(() => Promise.reject(away));
  stop.abort();
  expect(await waiting).toBeUndefined();
  expect(await backoff.retry(() => Promise.resolve({ done: true }))).toEqual({ done: true });
});

test('errors that take turns are reported once each, and the outage ends with its last work', async () => {
  const { backoff, seen } = setUp();
  const work = (texts: string[]) => (): Promise<object> => {
    const text = texts.shift();
    if (text === undefined) return Promise.resolve({});
    return Promise.reject(new JobCacheError('SALT_JOBCACHE_AWAY', text));
  };
  const short = backoff.retry(work(['refused', 'cut off', 'refused']));
  const long = backoff.retry(work(['refused', 'cut off', 'refused', 'cut off', 'refused']));
  await short;
  expect(backoff.waiting).toBe(true);
  expect(seen).toEqual(['away: refused', 'away: cut off']);
  await long;
  expect(backoff.waiting).toBe(false);
  expect(seen).toEqual(['away: refused', 'away: cut off', 'back']);
});
