import { expect, test } from 'vitest';
import { eachAtOnce, InFlight } from './in-flight.ts';

test('there is room again when a task has ended', async () => {
  const tasks = new InFlight(2);
  const ends: (() => void)[] = [];
  const add = (): void => tasks.add(new Promise<void>((resolve) => ends.push(resolve)));
  add();
  expect(tasks.isFull).toBe(false);
  await tasks.room();
  add();
  expect([tasks.isFull, tasks.size]).toEqual([true, 2]);
  let hasRoom = false;
  const room = tasks.room().then(() => (hasRoom = true));
  await Promise.resolve();
  expect(hasRoom).toBe(false);
  ends[1]?.();
  await room;
  expect(tasks.size).toBe(1);
  ends[0]?.();
  await tasks.settled();
  expect(tasks.size).toBe(0);
});

async function* numbers(count: number): AsyncGenerator<number> {
  for (let n = 0; n < count; n += 1) yield await Promise.resolve(n);
}

test('a source is worked through, some at a time', async () => {
  let running = 0;
  let most = 0;
  const done: number[] = [];
  await eachAtOnce(numbers(20), 3, async (n) => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    done.push(n);
  });
  expect(most).toBe(3);
  expect(done).toHaveLength(20);
});

test('the first error ends the reading, and is reported when the others have ended', async () => {
  const ended: number[] = [];
  const work = async (n: number): Promise<void> => {
    if (n === 1) throw new Error('one');
    await new Promise((resolve) => setImmediate(resolve));
    ended.push(n);
    if (n === 2) throw new Error('two');
  };
  await expect(eachAtOnce(numbers(100), 3, work)).rejects.toThrow('one');
  expect(ended[0]).toBe(0);
  expect(ended.length).toBeLessThan(5);
});
