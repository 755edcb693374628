import { expect, test } from 'vitest';
import { jobCacheScene } from '../../test/job-cache-scene.ts';
import type { QueueItem } from './queues.ts';

const { cache } = await jobCacheScene();

const item = (value: unknown): QueueItem => {
  const json = JSON.stringify(value);
  return { json, sameness: json };
};
const named = (queue: string, backend = 'sqlite') => ({ backend, queue });

test('items leave a queue in the order in which they came', async () => {
  const queue = named('order');
  expect(await cache.queues.put(queue, ['c', 'a', 'b'].map(item), 'put 1')).toBe('stored');
  expect(await cache.queues.put(queue, [item({ fun: 'test.arg' })], 'put 2')).toBe('stored');
  expect(await cache.queues.length(queue)).toBe(4);
  expect(await cache.queues.items(queue, 0)).toEqual({
    items: ['"c"', '"a"', '"b"', '{"fun":"test.arg"}'],
    next: undefined,
  });
  expect(await cache.queues.take(queue, 2, 'take 1')).toEqual(['"c"', '"a"']);
  expect(await cache.queues.take(queue, 1_000, 'take 2')).toEqual(['"b"', '{"fun":"test.arg"}']);
  expect(await cache.queues.take(queue, 1, 'take 3')).toEqual([]);
  expect(await cache.queues.length(queue)).toBe(0);
});

test('a call that is repeated does its work once, and gets the same items', async () => {
  const queue = named('again', 'pgjsonb');
  for (let times = 0; times < 3; times += 1) {
    expect(await cache.queues.put(queue, [item(1), item(1), item(2)], 'put again')).toBe('stored');
  }
  expect(await cache.queues.length(queue)).toBe(3);
  expect(await cache.queues.take(queue, 2, 'take again')).toEqual(['1', '1']);
  expect(await cache.queues.take(queue, 2, 'take again')).toEqual(['1', '1']);
  expect(await cache.queues.put(queue, [item(1), item(1), item(2)], 'put again')).toBe('stored');
  expect(await cache.queues.length(queue)).toBe(1);
});

test('the backend sqlite takes an item once while it waits, and all or none', async () => {
  const queue = named('once');
  expect(await cache.queues.put(queue, [item('a')], 'once 1')).toBe('stored');
  expect(await cache.queues.put(queue, [item('b'), item('a')], 'once 2')).toBe('exists');
  expect((await cache.queues.items(queue, 0)).items).toEqual(['"a"']);
  await cache.queues.take(queue, 1, 'once 3');
  expect(await cache.queues.put(queue, [item('b'), item('a')], 'once 4')).toBe('stored');
  expect(await cache.queues.put(named('once', 'pgjsonb'), [item('a')], 'once 5')).toBe('stored');
});

test('many takers at once share the items, each of which one gets', async () => {
  const queue = named('shared', 'pgjsonb');
  const all = Array.from({ length: 200 }, (_, at) => item(at));
  await cache.queues.put(queue, all, 'shared');
  const takers = Array.from({ length: 8 }, (_, at) => cache.queues.take(queue, 30, `taker ${at}`));
  const taken = (await Promise.all(takers)).flat();
  taken.push(...(await cache.queues.take(queue, 1_000, 'the rest')));
  expect(taken.sort()).toEqual(all.map(({ json }) => json).sort());
});

test('items are removed by what they are, and queues without any are not listed', async () => {
  const queue = named('removed', 'listed');
  await cache.queues.put(queue, ['a', 'b', 'c'].map(item), 'removed');
  expect(await cache.queues.names('listed')).toEqual(['removed']);
  await cache.queues.remove(queue, [item('a'), item('nothing')]);
  expect((await cache.queues.items(queue, 0)).items).toEqual(['"b"', '"c"']);
  await cache.queues.remove(queue, [item('b'), item('c')]);
  expect(await cache.queues.names('listed')).toEqual([]);
});

test('what is too large is refused, and a full queue takes nothing', async () => {
  const queue = named('large', 'pgjsonb');
  const many = Array.from({ length: 1_000 }, () => item(1));
  await expect(cache.queues.put(queue, [...many, item(1)], 'l 1')).rejects.toThrow(RangeError);
  const large = item('x'.repeat(70_000));
  await expect(cache.queues.put(queue, [large], 'l 2')).rejects.toThrow(RangeError);
  await expect(cache.queues.put(named('q'.repeat(300)), [], 'l 3')).rejects.toThrow(RangeError);
  for (let at = 0; at < 100; at += 1) await cache.queues.put(queue, many, `large ${at}`);
  expect(await cache.queues.put(queue, [item(1)], 'one more')).toBe('full');
  const page = await cache.queues.items(queue, 0);
  expect(page.items).toHaveLength(1_000);
  expect((await cache.queues.items(queue, page.next ?? 0)).items).toHaveLength(1_000);
});
