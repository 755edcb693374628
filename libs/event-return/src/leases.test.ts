import { expect, test } from 'vitest';
import { MemoryRecord } from '../test/records.ts';
import { claim, LEASE_MS, LeaseLostError, type LeasePorts } from './leases.ts';

/** Processes that share a record and a clock; a sleep moves the clock on. */
function world() {
  const store = new MemoryRecord();
  const clock = { now: 0 };
  const process = (owner: string): LeasePorts => ({
    store,
    owner,
    now: () => clock.now,
    sleep: async (ms) => {
      clock.now += ms;
    },
  });
  return { store, clock, process };
}

const never = new AbortController().signal;
const noTrouble = (error: unknown): void => {
  throw error;
};

test('a returner has one owner, and one that stops leaves it at once', async () => {
  const { clock, process, store } = world();
  const first = await claim(process('a'), never, noTrouble);
  await first?.save({ position: 'p1', note: { size: 7 } });
  expect(store.content).toEqual({ owner: 'a', position: 'p1', note: { size: 7 } });
  await first?.release({ position: 'p2' });
  const before = clock.now;
  const second = await claim(process('b'), never, noTrouble);
  expect(clock.now).toBe(before);
  expect(second?.saved).toMatchObject({ position: 'p2', note: { size: 7 } });
});

test('one that dies loses it after the lease, by the clock of the one that waits', async () => {
  const { clock, process } = world();
  await claim(process('a'), never, noTrouble);
  clock.now = 5_000;
  const second = await claim(process('b'), never, noTrouble);
  expect(second).toBeDefined();
  expect(clock.now).toBeGreaterThan(5_000 + LEASE_MS);
});

test('while an owner renews, no other gets it', async () => {
  const { clock, process } = world();
  const owner = await claim(process('a'), never, noTrouble);
  const stop = new AbortController();
  let looks = 0;
  const waiting = claim(
    {
      ...process('b'),
      sleep: async (ms) => {
        clock.now += ms;
        await owner?.save();
        if ((looks += 1) === 100) stop.abort();
      },
    },
    stop.signal,
    noTrouble,
  );
  expect(await waiting).toBe(undefined);
});

test('an owner whose place was taken notices at its next save', async () => {
  const { clock, process } = world();
  const first = await claim(process('a'), never, noTrouble);
  clock.now += LEASE_MS;
  expect(first?.isSure).toBe(false);
  await claim(process('b'), never, noTrouble);
  await expect(first?.save({ position: 'p9' })).rejects.toBeInstanceOf(LeaseLostError);
  expect(first?.isLost).toBe(true);
  await expect(first?.release()).rejects.toBeInstanceOf(LeaseLostError);
});

test('an owner is sure only while the record can be written', async () => {
  const { clock, process, store } = world();
  const lease = await claim(process('a'), never, noTrouble);
  store.isAway = true;
  clock.now += 11_000;
  await expect(lease?.save()).rejects.toThrow('NATS is away');
  expect(lease?.isSure).toBe(false);
  store.isAway = false;
  await lease?.save();
  expect(lease?.isSure).toBe(true);
});

test('a record that can not be read is tried again', async () => {
  const { process, store } = world();
  store.isAway = true;
  const troubles: unknown[] = [];
  const lease = await claim(process('a'), never, (error) => {
    troubles.push(error);
    store.isAway = troubles.length < 3;
  });
  expect(lease).toBeDefined();
  expect(troubles).toHaveLength(3);
});
