import { JobCacheError } from '@brine/job-cache';
import { expect, test } from 'vitest';
import { Hold } from './hold.ts';

function setUp(): { hold: Hold; seen: string[]; stop: AbortController } {
  const seen: string[] = [];
  const stop = new AbortController();
  const ports = {
    onOutage: (error: unknown) => seen.push(`away: ${(error as Error).message}`),
    onRecovered: () => seen.push('back'),
  };
  return { hold: new Hold(ports, stop.signal), seen, stop };
}

test('an outage is waited out and told once', async () => {
  const { hold, seen } = setUp();
  let tries = 0;
  const result = await hold.until(() => {
    tries += 1;
    if (tries < 3) return Promise.reject(new JobCacheError('SALT_JOBCACHE_AWAY', 'gone'));
    return Promise.resolve({ tries });
  });
  expect(result).toEqual({ tries: 3 });
  expect(seen).toEqual(['away: gone', 'back']);
  expect(hold.holding).toBe(false);
});

test('what is no outage is thrown', async () => {
  const { hold } = setUp();
  const newer = new JobCacheError('SALT_JOBCACHE_SCHEMA_NEWER', 'newer');
  await expect(hold.until(() => Promise.reject(newer))).rejects.toBe(newer);
  await expect(hold.until(() => Promise.reject(new TypeError('a fault')))).rejects.toThrow('fault');
});

test('being told to stop ends the wait, and still one try is made', async () => {
  const { hold, stop } = setUp();
  const away = new JobCacheError('SALT_JOBCACHE_AWAY', 'gone');
  const waiting = hold.until(() => Promise.reject(away));
  stop.abort();
  expect(await waiting).toBeUndefined();
  expect(await hold.until(() => Promise.resolve({ done: true }))).toEqual({ done: true });
});

test('errors that take turns are told once each, and the outage ends with its last work', async () => {
  const { hold, seen } = setUp();
  const work = (texts: string[]) => (): Promise<object> => {
    const text = texts.shift();
    if (text === undefined) return Promise.resolve({});
    return Promise.reject(new JobCacheError('SALT_JOBCACHE_AWAY', text));
  };
  const short = hold.until(work(['refused', 'cut off', 'refused']));
  const long = hold.until(work(['refused', 'cut off', 'refused', 'cut off', 'refused']));
  await short;
  expect(hold.holding).toBe(true);
  expect(seen).toEqual(['away: refused', 'away: cut off']);
  await long;
  expect(hold.holding).toBe(false);
  expect(seen).toEqual(['away: refused', 'away: cut off', 'back']);
});
