import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { FairShare } from './fair-share.ts';

const OPTIONS = { atOnce: 2, countsForMs: 10_000, maxWaiting: 100 };

/** Work that is done when it is told to; notes when it began. */
function works(share: FairShare) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const results: Promise<string>[] = [];
  return {
    begun,
    begin: (peer: string, name: string): void => {
      const work = (): Promise<string> => {
        begun.push(name);
        return new Promise((resolve) => ends.set(name, () => resolve(name)));
      };
      results.push(share.run(peer, work));
    },
    end: async (name: string): Promise<void> => {
      ends.get(name)?.();
      // Longer than the longest rest before the next one's turn.
      await pause(60);
    },
    results,
  };
}

test('a peer has a few under way, in its order, and others do not wait for it', async () => {
  const share = new FairShare(OPTIONS);
  const { begun, begin, end } = works(share);
  for (const name of ['a1', 'a2', 'a3', 'a4']) begin('a', name);
  begin('b', 'b1');
  expect(begun).toEqual(['a1', 'a2', 'b1']);
  expect(share.stats).toEqual({ waiting: 2, delayed: 2, overflowed: 0 });
  await end('a2');
  expect(begun).toEqual(['a1', 'a2', 'b1', 'a3']);
  await end('a1');
  expect(begun.at(-1)).toBe('a4');
  expect(share.stats.waiting).toBe(0);
});

test('who has more waiting rests as long as the last one took', async () => {
  const share = new FairShare({ ...OPTIONS, atOnce: 1 });
  const begunAt: number[] = [];
  const work = async (): Promise<void> => {
    begunAt.push(performance.now());
    await pause(20);
  };
  await Promise.all([share.run('a', work), share.run('a', work)]);
  expect((begunAt[1] ?? 0) - (begunAt[0] ?? 0)).toBeGreaterThan(35);
  const sinceMs = performance.now();
  await share.run('a', work);
  expect((begunAt[2] ?? 0) - sinceMs).toBeLessThan(15);
});

test('what takes long holds up nobody', async () => {
  const share = new FairShare({ ...OPTIONS, countsForMs: 30 });
  const { begun, begin, end } = works(share);
  for (let index = 0; index < 7; index++) begin('a', `a${index}`);
  expect(begun).toHaveLength(2);
  await pause(50);
  expect(begun.length).toBeGreaterThanOrEqual(4);
  await end('a0');
  await pause(150);
  expect(begun).toHaveLength(7);
});

test('a failure ends a turn as well, and is passed on', async () => {
  const share = new FairShare({ ...OPTIONS, atOnce: 1 });
  const failing = share.run('a', () => Promise.reject(new Error('no')));
  const next = share.run('a', () => Promise.resolve('next'));
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe('next');
});

test('beyond the limit nobody waits', async () => {
  const share = new FairShare({ ...OPTIONS, maxWaiting: 1 });
  const { begun, begin, end, results } = works(share);
  for (const name of ['1', '2', '3', '4']) begin('a', name);
  await pause(1);
  expect(begun).toEqual(['1', '2', '4']);
  expect(share.stats.overflowed).toBe(1);
  for (const name of ['1', '2', '4', '3']) await end(name);
  expect(await Promise.all(results)).toEqual(['1', '2', '3', '4']);
});
