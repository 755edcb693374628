import { expect, test } from 'vitest';
import { Gate } from './gate.ts';

/** A task that ends on command. */
function task() {
  let end = (_error?: Error): void => undefined;
  let begun = false;
  const ended = new Promise<void>((resolve, reject) => {
    end = (error) => (error === undefined ? resolve() : reject(error));
  });
  const run = (): Promise<void> => {
    begun = true;
    return ended;
  };
  return { run, end: (error?: Error) => end(error), isBegun: () => begun };
}

test('as many tasks run at once as there are places, the others begin in their order', async () => {
  const gate = new Gate(2);
  const tasks = Array.from({ length: 4 }, task);
  const runs = tasks.map(({ run }) => gate.run(run));
  const begun = (): readonly boolean[] => tasks.map(({ isBegun }) => isBegun());
  expect(begun()).toEqual([true, true, false, false]);
  tasks[1]?.end();
  await runs[1];
  await expect.poll(begun).toEqual([true, true, true, false]);
  for (const { end } of tasks) end();
  await Promise.all(runs);
  expect(begun()).toEqual([true, true, true, true]);
});

test('a task that fails gives its place to the next one', async () => {
  const gate = new Gate(1);
  const [first, second] = [task(), task()];
  const failed = gate.run(first.run);
  const done = gate.run(second.run);
  first.end(new Error('x'));
  await expect(failed).rejects.toThrow('x');
  second.end();
  await done;
  expect(await gate.run(() => Promise.resolve(7))).toBe(7);
});
