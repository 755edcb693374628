import { mapOf, type SaltMap } from '@brine/wire';
import { expect, test } from 'vitest';
import { ClusterUpkeep, type UpkeepTask } from './cluster-upkeep.ts';

const HOUR = 3_600_000;

/** A run in memory: what was saved, and the end of it. */
function runOf(data: SaltMap = mapOf({})) {
  const released = new AbortController();
  const saved: SaltMap[] = [];
  return {
    released,
    saved,
    run: {
      data,
      released: released.signal,
      check: () => released.signal.throwIfAborted(),
      save: (next: SaltMap) => {
        saved.push(next);
        return Promise.resolve();
      },
    },
  };
}

/** Does the work of one owner until the condition holds. */
async function ownedUntil(
  tasks: readonly UpkeepTask[],
  { run, released }: ReturnType<typeof runOf>,
  isEnough: () => boolean,
  now: () => number,
): Promise<{ readonly told: string[]; readonly status: object }> {
  const told: string[] = [];
  const upkeep = new ClusterUpkeep({ tasks, onTrouble: (text) => told.push(text), now, lookMs: 1 });
  const working = upkeep.task.work(run as never);
  await expect.poll(isEnough, { interval: 1 }).toBe(true);
  released.abort();
  await working;
  return { told, status: upkeep.status() };
}

test('what is due is done once, and its time is saved for the next owner', async () => {
  let done = 0;
  let now = 10 * HOUR;
  const task = { name: 'tokens', everyMs: HOUR, work: () => Promise.resolve(void (done += 1)) };
  const first = runOf();
  const { status } = await ownedUntil(
    [task],
    first,
    () => first.saved.length > 0,
    () => now,
  );
  expect(done).toBe(1);
  expect(first.saved).toEqual([mapOf({ tokens: now })]);
  expect(status).toEqual({ ranAt: { tokens: new Date(now).toISOString() } });

  now += HOUR / 2;
  const second = runOf(first.saved[0]);
  let looks = 0;
  await ownedUntil(
    [task],
    second,
    () => looks > 2,
    () => ((looks += 1), now),
  );
  expect(second.saved).toEqual([]);
  expect(done).toBe(1);
  now += HOUR / 2;
  const third = runOf(first.saved[0]);
  await ownedUntil(
    [task],
    third,
    () => done === 2,
    () => now,
  );
});

test('what fails is told once, tried again, and does not stop the rest', async () => {
  let tries = 0;
  let others = 0;
  const tasks: UpkeepTask[] = [
    {
      name: 'tokens',
      everyMs: HOUR,
      work: () => ((tries += 1) < 3 ? Promise.reject(new Error('away')) : Promise.resolve()),
    },
    { name: 'others', everyMs: HOUR, work: () => Promise.resolve(void (others += 1)) },
  ];
  const owned = runOf();
  const { told } = await ownedUntil(
    tasks,
    owned,
    () => tries === 3,
    () => 10 * HOUR,
  );
  expect(told).toEqual(['tokens were not tidied']);
  expect(others).toBe(1);
});
