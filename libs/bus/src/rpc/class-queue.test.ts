import { expect, test } from 'vitest';
import { ClassQueue, type QueuedRequest } from './class-queue.ts';

function queued(key: string): QueuedRequest {
  const head = { id: key, host: 'h', deadlineMs: Infinity };
  const state = { cancelled: false, started: false, done: false };
  return { gateway: 'g', slot: key, key, cls: 'clear', head, body: Buffer.alloc(0), ...state };
}

test('a request that steps aside twice frees only one place for the next', () => {
  const ends = new Map<string, () => void>();
  const queue = new ClassQueue(1, 2, (one) => {
    one.started = true;
    ends.set(one.key, () => queue.finished(one));
  });
  const all = ['a', 'b', 'c'].map(queued);
  for (const one of all) queue.push(one);
  queue.next();
  expect([...ends.keys()]).toEqual(['a']);
  queue.stepAside(all[0]!);
  queue.stepAside(all[0]!);
  expect([...ends.keys()]).toEqual(['a', 'b']);
  expect([queue.running, queue.hand]).toEqual([1, 2]);
  ends.get('a')!();
  expect(queue.running).toBe(1);
  ends.get('b')!();
  expect([...ends.keys()]).toEqual(['a', 'b', 'c']);
  ends.get('c')!();
  expect(queue.running).toBe(0);
});

test('any number may end at once', () => {
  let worked = 0;
  const queue = new ClassQueue(1, 50_000, (one) => {
    worked += 1;
    queue.finished(one);
  });
  for (let n = 0; n < 50_000; n += 1) queue.push(queued(`${n}`));
  queue.next();
  expect([worked, queue.running, queue.hand]).toEqual([50_000, 0, 0]);
});
