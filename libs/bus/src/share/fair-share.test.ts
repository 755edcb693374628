import { workTakes } from '@brine/testing/waits';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { FairShare, ShareExceededError } from './fair-share.ts';

const OPTIONS = {
  atOnce: 2,
  atOnceAmongOthers: 2,
  countsForMs: 10_000,
  waiting: 100,
  waitingBytes: 1_000,
};

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});

afterEach(() => {
  vi.useRealTimers();
});

/** Lets so many ms pass, with all that becomes due. */
async function pause(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

/** Work that ends on demand; notes when it began. */
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
      results.push(share.run(peer, 10, work));
    },
    end: async (name: string): Promise<void> => {
      ends.get(name)?.();
      // Longer than the longest rest before the next one's turn.
      await pause(101);
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
  expect(share.stats).toEqual({ waiting: 2, delayed: 2, overflowed: 0, refused: 0 });
  await end('a2');
  expect(begun).toEqual(['a1', 'a2', 'b1', 'a3']);
  await end('a1');
  expect(begun.at(-1)).toBe('a4');
  expect(share.stats.waiting).toBe(0);
});

test('a peer with more waiting work rests while others ask too', async () => {
  const share = new FairShare({ ...OPTIONS, atOnce: 1, atOnceAmongOthers: 1 });
  const begunAt: number[] = [];
  const work = async (): Promise<void> => {
    begunAt.push(performance.now());
    await workTakes(20);
  };
  const betweenTwo = async (): Promise<number> => {
    const both = Promise.all([share.run('a', 10, work), share.run('a', 10, work)]);
    await pause(200);
    await both;
    return (begunAt.at(-1) ?? 0) - (begunAt.at(-2) ?? 0);
  };
  expect(await betweenTwo()).toBe(20);
  const other = share.run('b', 10, work);
  await pause(100);
  await other;
  expect(await betweenTwo()).toBe(40);
  await pause(2_000);
  expect(await betweenTwo()).toBe(20);
});

test('a peer has fewer under way while others ask too', async () => {
  const share = new FairShare({ ...OPTIONS, atOnceAmongOthers: 1 });
  const { begun, begin, end } = works(share);
  begin('b', 'b1');
  for (const name of ['a1', 'a2', 'a3']) begin('a', name);
  expect(begun).toEqual(['b1', 'a1']);
  await end('b1');
  await pause(2_000);
  await end('a1');
  expect(begun).toEqual(['b1', 'a1', 'a2', 'a3']);
});

test('work that takes long delays no other', async () => {
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
  const failing = share.run('a', 10, () => Promise.reject(new Error('no')));
  const next = share.run('a', 10, () => Promise.resolve('next'));
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe('next');
});

test.each([
  ['all waiting', { waiting: 1 }],
  ['one waiting', { waitingOfOne: 1 }],
  ['their bytes', { waitingBytes: 10 }],
])('beyond the limit of %s work begins at once', async (_, limit) => {
  const share = new FairShare({ ...OPTIONS, ...limit });
  const { begun, begin, end, results } = works(share);
  for (const name of ['1', '2', '3', '4']) begin('a', name);
  await pause(1);
  expect(begun).toEqual(['1', '2', '4']);
  expect(share.stats.overflowed).toBe(1);
  for (const name of ['1', '2', '4', '3']) await end(name);
  expect(await Promise.all(results)).toEqual(['1', '2', '3', '4']);
});

test('a peer with a full line takes no place of another', async () => {
  const share = new FairShare({ ...OPTIONS, atOnce: 1, atOnceAmongOthers: 1, waitingOfOne: 1 });
  const { begun, begin } = works(share);
  for (const name of ['a1', 'a2', 'a3']) begin('a', name);
  for (const name of ['b1', 'b2']) begin('b', name);
  await pause(1);
  expect(begun).toEqual(['a1', 'b1', 'a3']);
  expect(share.stats).toEqual({ waiting: 2, delayed: 2, overflowed: 1, refused: 0 });
});

describe('with a budget', () => {
  const BUDGET = { ...OPTIONS, budget: { bytesAtOnce: 100, bytesPerSecond: 10 } };
  const asked = async (share: FairShare, peer: string, bytes: number): Promise<string> => {
    try {
      return await share.run(peer, bytes, () => Promise.resolve('done'));
    } catch (error) {
      if (!(error instanceof ShareExceededError)) throw error;
      return error.again ? 'again' : 'first';
    }
  };

  test('a peer that has used it is refused until some comes back, and others are not', async () => {
    const share = new FairShare(BUDGET);
    expect(await asked(share, 'a', 60)).toBe('done');
    expect(await asked(share, 'a', 40)).toBe('done');
    expect(await asked(share, 'a', 1)).toBe('first');
    expect(await asked(share, 'a', 1)).toBe('again');
    expect(await asked(share, 'b', 1)).toBe('done');
    await pause(1_000);
    expect(await asked(share, 'a', 30)).toBe('done');
    // It took more than had come back.
    await pause(1_000);
    expect(await asked(share, 'a', 1)).toBe('again');
    await pause(1_500);
    expect(await asked(share, 'a', 1)).toBe('done');
    expect(share.stats.refused).toBe(3);
    // With half of it left it is as one that was never refused.
    await pause(6_000);
    expect(await asked(share, 'a', 100)).toBe('done');
    expect(await asked(share, 'a', 1)).toBe('first');
  });

  test('one piece may be larger than it, and is paid for afterwards', async () => {
    const share = new FairShare(BUDGET);
    expect(await asked(share, 'a', 300)).toBe('done');
    await pause(19_000);
    expect(await asked(share, 'a', 1)).toBe('first');
    await pause(1_500);
    expect(await asked(share, 'a', 1)).toBe('done');
  });

  test('what finds no place to wait is refused, and does not begin', async () => {
    const share = new FairShare({ ...BUDGET, waitingOfOne: 1 });
    const { begun, begin, results } = works(share);
    for (const name of ['1', '2', '3', '4']) begin('a', name);
    await expect(results[3]).rejects.toThrow('a has had its share');
    expect(begun).toEqual(['1', '2']);
  });

  test('a refusal is no turn: the next one of the peer begins', async () => {
    const share = new FairShare({ ...BUDGET, atOnce: 1, atOnceAmongOthers: 1 });
    expect(await asked(share, 'a', 100)).toBe('done');
    expect(await asked(share, 'a', 1)).toBe('first');
    await pause(1_000);
    expect(await asked(share, 'a', 1)).toBe('done');
  });

  test('peers that are known are bounded, however many there are', async () => {
    const share = new FairShare(BUDGET);
    await asked(share, 'first', 100);
    for (let n = 0; n < 20_000; n += 1) await asked(share, `${n}`, 1);
    expect(await asked(share, 'first', 1)).toBe('done');
  });
});
