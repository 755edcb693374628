import { Bucket } from '@brine/bus';
import { SecretBox } from '@brine/crypt';
import { OutageError, PlannedCalls } from '@brine/reactor';
import { startNats, type TestNats, vectorFile } from '@brine/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FAILURES, type KeptFailure, ReactorState } from './reactor-state.ts';

const { keys } = vectorFile<{ keys: { pem: string }[] }>('rsa.json');
const box = SecretBox.fromMasterKey(keys[0]!.pem, 'reactor');

let nats: TestNats;
beforeAll(async () => {
  nats = await startNats();
}, 600_000);
afterAll(() => nats.close());

async function stateOf(): Promise<{ state: ReactorState; bucket: Bucket }> {
  const bucket = new Bucket(await nats.connect('runner-pool'), 'brine_reactor');
  return { state: new ReactorState(bucket, box), bucket };
}

function failure(n: number): KeptFailure {
  const about = { id: `event/EVENTS/${n}.0`, tag: 'my/event', what: '/a.sls', why: `no ${n}` };
  return { ...about, kind: 'render', atMs: n };
}

test('changes of several workers at once are all there', async () => {
  const { state } = await stateOf();
  const { state: other } = await stateOf();
  expect(await state.shared()).toEqual({ changes: { added: [], removed: [] }, isLeader: true });
  const add = (on: ReactorState, event: string) =>
    on.change((shared) => {
      const added = [...shared.changes.added, { event, reactors: ['/x'] }];
      return { ...shared, changes: { ...shared.changes, added } };
    });
  await Promise.all(['a', 'b', 'c', 'd'].map((event, at) => add(at % 2 ? state : other, event)));
  const { changes } = await state.shared();
  expect(changes.added.map(({ event }) => event).sort()).toEqual(['a', 'b', 'c', 'd']);
  expect(await state.change(() => 'no')).toBe('no');
  await other.change((shared) => ({ ...shared, isLeader: false }));
  expect((await state.shared()).isLeader).toBe(false);
});

test('plans are compared and set: of two workers one has the reaction', async () => {
  const { state } = await stateOf();
  const { state: other } = await stateOf();
  const first = await PlannedCalls.of(state, 'event/EVENTS/1.0');
  await first.begin(2, async () => '20261126120000000001');
  await first.did(0);
  const second = await PlannedCalls.of(other, 'event/EVENTS/1.0');
  expect([second.isDone(0), second.isDone(1), second.begun]).toEqual([true, false, 1]);
  await second.begin(2, async () => 'never');
  await expect(first.end()).rejects.toThrow('another worker');
  await second.end();
  expect((await PlannedCalls.of(state, 'event/EVENTS/1.0')).ended).toBe(true);
});

test('failures come back the newest first, and the oldest go', async () => {
  const { state, bucket } = await stateOf();
  const { state: other } = await stateOf();
  expect(await state.failures()).toEqual({ list: [], count: 0 });
  const most = FAILURES.perPage * FAILURES.pages;
  for (let n = 0; n < most + 60; n += 1) await (n % 2 ? state : other).keepFailure(failure(n));
  const { list, count } = await state.failures();
  expect(count).toBe(most + 60);
  expect(list[0]).toEqual(failure(most + 59));
  // The page that is being written over begins anew.
  expect(list.length).toBeGreaterThan(most - FAILURES.perPage);
  expect(list.length).toBeLessThanOrEqual(most);
  expect(list.map(({ atMs }) => atMs)).toEqual(
    Array.from({ length: list.length }, (_, at) => most + 59 - at),
  );
  for await (const { key, value } of bucket.entries()) {
    if (key.startsWith('failed.')) expect(Buffer.from(value).toString()).not.toContain('my/event');
  }
});

test('a bucket that is away is an outage, which another try may find over', async () => {
  const bus = await nats.connect('runner-pool');
  const state = new ReactorState(new Bucket(bus, 'brine_reactor'), box);
  await bus.close();
  await expect(state.shared()).rejects.toThrow(OutageError);
  await expect(state.load('x')).rejects.toThrow(OutageError);
  await expect(state.save('x', { begun: 1, calls: [], ended: false }, 0)).rejects.toThrow(
    OutageError,
  );
});
