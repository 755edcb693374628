import { WireError } from '@brine/wire';
import { expect, test } from 'vitest';
import { retryUpTo } from '../test/retrying.ts';
import { Delivery } from './delivery.ts';
import type { Batch } from './gathering.ts';
import { ReturnerError } from './returner.ts';

function batchOf(count: number): Batch {
  const events = Array.from({ length: count }, (_, n) => {
    return { tag: `t/${n + 1}`, timeMs: 0, data: Buffer.of(0x80), position: `p${n + 1}` };
  });
  return { events, from: 'p0', to: `p${count}+` };
}

/** A returner that keeps its place and the tags it took; `judge` throws for what it refuses. */
function scene(judge: (tags: readonly string[], call: number) => void, tries = 50) {
  const taken: string[] = [];
  const put: string[] = [];
  const places: string[] = [];
  let place = 'p0';
  let calls = 0;
  let now = 0;
  const delivery = new Delivery({
    write: async ({ events, from, to }) => {
      const tags = events.map(({ tag }) => tag);
      now += 10_000;
      judge(tags, (calls += 1));
      if (from !== place) throw new ReturnerError('moved', `it is at ${place}`);
      taken.push(...tags);
      place = to;
      return to;
    },
    retry: retryUpTo(tries),
    quarantine: async ({ tag }) => ({ tag }),
    written: async (batch, note) => {
      expect(note).toBe(batch.to);
      places.push(batch.to);
    },
    quarantined: ({ tag }) => void put.push(tag),
    now: () => now,
  });
  return { delivery, taken, put, places, calls: () => calls, at: () => place };
}

const tags = (...numbers: readonly number[]): string[] => numbers.map((n) => `t/${n}`);

test('a batch is written as it is, and its place is told', async () => {
  const { delivery, taken, places } = scene(() => undefined);
  expect(await delivery.deliver(batchOf(3))).toBe(true);
  expect(taken).toEqual(tags(1, 2, 3));
  expect(places).toEqual(['p3+']);
});

test('in an outage the same batch is tried again, and nothing is put away', async () => {
  const { delivery, taken, put, calls } = scene((_, call) => {
    if (call < 10) throw new ReturnerError('away', 'gone');
  });
  expect(await delivery.deliver(batchOf(3))).toBe(true);
  expect([taken, put, calls()]).toEqual([tags(1, 2, 3), [], 10]);
});

test('a process that is to stop leaves the batch to the next one', async () => {
  const { delivery, taken, places, at } = scene(() => {
    throw new ReturnerError('away', 'gone');
  });
  expect(await delivery.deliver(batchOf(3))).toBe(false);
  expect([taken, places, at()]).toEqual([[], [], 'p0']);
});

test('one that is refused is put away alone, and the others are written in order', async () => {
  const { delivery, taken, put, at } = scene((given) => {
    if (given.includes('t/4')) throw new ReturnerError('refused', 'too long');
  });
  expect(await delivery.deliver(batchOf(7))).toBe(true);
  expect([taken, put]).toEqual([tags(1, 2, 3, 5, 6, 7), ['t/4']]);
  expect(at()).toBe('p7+');
});

test('data that can not be read is refused too', async () => {
  const { delivery, put } = scene((given) => {
    if (given.includes('t/1')) throw new WireError('SALT_WIRE_DEPTH', 'too deep');
  });
  expect(await delivery.deliver(batchOf(2))).toBe(true);
  expect(put).toEqual(['t/1']);
});

test('another writer, or no such returner, ends the delivery at once', async () => {
  for (const failure of ['moved', 'missing'] as const) {
    const { delivery, calls } = scene(() => {
      throw new ReturnerError(failure, 'x');
    });
    await expect(delivery.deliver(batchOf(2))).rejects.toMatchObject({ failure });
    expect(calls()).toBe(1);
  }
});

test('an event that fails without a reason is put away after two minutes alone', async () => {
  const { delivery, taken, put } = scene((given) => {
    if (given.includes('t/2')) throw new ReturnerError('unclear', 'KeyError');
  });
  expect(await delivery.deliver(batchOf(4))).toBe(true);
  expect([taken, put]).toEqual([tags(1, 3, 4), ['t/2']]);
});

test('where all fail without a reason one is put away until something is written', async () => {
  let isAway = true;
  const { delivery, taken, put, calls } = scene((given, call) => {
    if (call > 100) isAway = false;
    if (isAway && given.length > 0) throw new ReturnerError('unclear', 'OperationalError');
  }, 1_000);
  expect(await delivery.deliver(batchOf(8))).toBe(true);
  expect(put).toEqual(['t/1']);
  expect(taken).toEqual(tags(2, 3, 4, 5, 6, 7, 8));
  expect(calls()).toBeGreaterThan(100);
});
