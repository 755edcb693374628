import { Bucket, type BucketKey, type Bus, escapeKey } from '@brine/bus';
import { SecretBox } from '@brine/crypt';
import { startNats, type TestNats, vectorFile } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { mapOf, type SaltMap } from '@brine/wire';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { runIn, RunOffers } from './run-offers.ts';
import { NOT_SEALED, RUN_LIMITS } from './run-record.ts';
import { RunStore, type RunStoreOptions } from './run-store.ts';
import type { StoredRun } from './stored-run.ts';

const { keys } = vectorFile<{ keys: { pem: string }[] }>('rsa.json');
const box = SecretBox.fromMasterKey(keys[0]!.pem, 'runs');
const JID = '20261126120000123456';
const OTHER = '20261126120000123457';
const LEASE_MS = 1_600;
/** A busy machine may stall for long, and a run is still to stay with its process. */
const KEPT_MS = 4_000;

let nats: TestNats;
const open: { readonly store: RunStore; readonly bus: Bus }[] = [];

beforeEach(async () => {
  nats = await startNats();
});

afterEach(async () => {
  for (const { store } of open.splice(0)) await store.close();
  await nats.close();
});

/** The bucket of a process whose beats may not arrive. */
class FaultyBucket extends Bucket {
  beats: 'arrive' | 'lie' | 'fail' = 'arrive';

  override put(key: BucketKey, value: Uint8Array): Promise<number> {
    if (!key.startsWith('beat.') || this.beats === 'arrive') return super.put(key, value);
    return this.beats === 'lie' ? Promise.resolve(1) : Promise.reject(new Error('away'));
  }
}

const jidsOf = (...workers: readonly { readonly taken: readonly StoredRun[] }[]): string[] =>
  workers.flatMap(({ taken }) => taken.map(({ jid }) => jid));

/** A process with its runs. What it takes over waits until it is lost. */
async function worker(
  processId: string,
  { room = true, ...options }: RunStoreOptions & { readonly room?: boolean } = {},
) {
  const bus = await nats.connect('runner-pool');
  const bucket = new FaultyBucket(bus, 'brine_runs');
  const taken: StoredRun[] = [];
  const troubles: string[] = [];
  const store = new RunStore(
    {
      bucket,
      box,
      processId,
      releasedError: (jid) => new Error(`lost ${jid}`),
      onTrouble: (text) => void troubles.push(text),
    },
    { leaseMs: LEASE_MS, ...options },
  );
  store.serve({
    kinds: new Set(['batch', 'runner', 'call']),
    hasRoom: () => room,
    takeOver: async (run) => {
      taken.push(run);
      await new Promise((resolve) => run.released.addEventListener('abort', resolve));
    },
  });
  open.push({ store, bus });
  await store.whenReady();
  /** As kill -9: it writes nothing more, and does not say good-bye. */
  const kill = async (): Promise<void> => {
    open.splice(
      open.findIndex((one) => one.store === store),
      1,
    );
    await bus.close();
    await store.close();
  };
  return { store, bus, bucket, taken, troubles, kill };
}

const order = (data: SaltMap) => ({ data, call: mapOf({ user: 'anne' }) });

test('a run goes on in another worker when its own is killed, from what was saved last', async () => {
  const [first, second, dead] = [
    await worker('one', { leaseMs: KEPT_MS }),
    await worker('two', { leaseMs: KEPT_MS }),
    await worker('dead', { leaseMs: KEPT_MS }),
  ];
  const run = await first.store.begin('batch', JID, {
    ...order(mapOf({ step: 1 })),
    input: mapOf({ ids: ['a', 'b'] }),
  });
  await run.save(mapOf({ step: 2 }));
  // The lease of one that died later is over, and this one is still with its process.
  await dead.store.begin('batch', OTHER, order(mapOf({})));
  await dead.kill();
  await until('the run of the dead one is taken', () => jidsOf(first, second).includes(OTHER));
  expect(jidsOf(first, second)).toEqual([OTHER]);
  await first.kill();
  const ofFirst = (): StoredRun | undefined => second.taken.find(({ jid }) => jid === JID);
  await until('the second worker has the run', ofFirst);
  const taken = ofFirst();
  expect(taken?.data).toEqual(mapOf({ step: 2 }));
  expect(taken?.input).toEqual(mapOf({ ids: ['a', 'b'] }));
  expect(taken?.call).toEqual(mapOf({ user: 'anne' }));
  expect((await second.store.offers.find(JID))?.owner).toBe('two');
});

test('of three workers one alone takes the run of a dead one', async () => {
  const started = (id: string) => worker(id, { leaseMs: KEPT_MS });
  const first = await started('one');
  const others = [await started('two'), await started('three'), await started('four')];
  await first.store.begin('batch', JID, order(mapOf({})));
  await first.kill();
  await until('a worker has the run', () => jidsOf(...others).includes(JID));
  // All look at it again before they take another one, whose lease ends later.
  const later = await started('later');
  await later.store.begin('batch', OTHER, order(mapOf({})));
  await later.kill();
  await until('a worker has the other run', () => jidsOf(...others).includes(OTHER));
  expect(jidsOf(...others, later).sort()).toEqual([JID, OTHER]);
});

test('a worker that was taken for dead can save nothing more', async () => {
  const first = await worker('one');
  const second = await worker('two');
  const run = await first.store.begin('batch', JID, order(mapOf({})));
  // Its beats find no way, and its clock stands still: it does not know.
  first.bucket.beats = 'lie';
  await until('the second worker has the run', () => second.taken.length === 1);
  await expect(run.save(mapOf({ step: 9 }))).rejects.toThrow(`lost ${JID}`);
  expect(run.released.aborted).toBe(true);
  expect((await second.store.offers.find(JID))?.data).toEqual(mapOf({}));
});

test('a worker that can not write its beats stops before another takes its runs', async () => {
  const first = await worker('one');
  const second = await worker('two');
  const run = await first.store.begin('batch', JID, order(mapOf({})));
  let takenBefore: readonly StoredRun[] | undefined;
  run.released.addEventListener('abort', () => (takenBefore = [...second.taken]));
  first.bucket.beats = 'fail';
  await until('the second worker has the run', () => second.taken.length === 1);
  expect(takenBefore).toEqual([]);
  expect(() => run.check()).toThrow(`lost ${JID}`);
});

test('a run whose record was set back, as by a restored copy, goes on from there', async () => {
  const { store, bucket, taken } = await worker('one');
  const run = await store.begin('batch', JID, order(mapOf({ step: 1 })));
  const key = escapeKey('run', JID);
  const copy = await bucket.get(key);
  await run.save(mapOf({ step: 2 }));
  await bucket.put(key, copy?.value ?? new Uint8Array(0));
  await expect(run.save(mapOf({ step: 3 }))).rejects.toThrow(`lost ${JID}`);
  await until('the worker has it again', () => taken.length === 1);
  expect(taken[0]?.data).toEqual(mapOf({ step: 1 }));
});

test('an ordered stop hands a run on at once, and no runner', async () => {
  const first = await worker('one', { leaseMs: 60_000 });
  const second = await worker('two', { leaseMs: 60_000 });
  const run = await first.store.begin('batch', JID, order(mapOf({ step: 1 })));
  const runner = await first.store.begin('runner', OTHER, order(mapOf({})));
  await first.store.handOver();
  expect(run.released.aborted).toBe(true);
  expect(runner.released.aborted).toBe(false);
  await until('the second worker has the run', () => second.taken.length === 1);
  expect(second.taken[0]?.jid).toBe(JID);
  await first.store.close();
  await until('the second worker has the runner too', () => second.taken.length === 2);
});

test('takeovers without a save count against a run, but for those of ordered stops', async () => {
  let owner = await worker('one');
  await owner.store.begin('batch', JID, order(mapOf({})));
  const next = async (id: string, end: () => Promise<void>): Promise<number | undefined> => {
    const worked = await worker(id);
    await end();
    await until(`${id} has the run`, () => worked.taken.length === 1);
    owner = worked;
    return worked.taken[0]?.takeovers;
  };
  expect(await next('two', () => owner.kill())).toBe(1);
  for (const id of ['three', 'four', 'five']) {
    expect(await next(id, () => owner.store.handOver())).toBe(1);
  }
  expect(await next('six', () => owner.kill())).toBe(2);
  await owner.taken[0]?.save(mapOf({ step: 1 }));
  expect(await next('seven', () => owner.store.handOver())).toBe(1);
});

describe('a message', () => {
  it('reaches the owner, and the next owner too', async () => {
    const first = await worker('one');
    const second = await worker('two');
    const run = await first.store.begin('batch', JID, order(mapOf({})));
    const received: SaltMap[] = [];
    run.onMessage((message) => received.push(message));
    expect(await second.store.send(JID, mapOf({ what: 'pause' }))).toBe(true);
    expect(await second.store.send(JID, mapOf({ what: 'resume' }))).toBe(true);
    await until('the owner has both', () => received.length === 2);
    await until('others know both', () => second.store.messages(JID).length === 2);
    expect(second.store.messages(JID)).toEqual(received);
    expect(second.store.messages('20990101000000000000')).toEqual([]);
    await first.kill();
    await until('the second worker has the run', () => second.taken.length === 1);
    const again: SaltMap[] = [];
    second.taken[0]?.onMessage((message) => again.push(message));
    expect(again).toEqual(received);
  });

  it('for a run that is not there is not kept', async () => {
    const { store } = await worker('one');
    expect(await store.send(JID, mapOf({ what: 'stop' }))).toBe(false);
  });
});

describe('a run that has ended', () => {
  it('is not there any more, and may not begin again while its last message is kept', async () => {
    const { store } = await worker('one');
    const run = await store.begin('batch', JID, order(mapOf({})));
    await run.end(mapOf({ done: 3 }));
    expect(await store.offers.find(JID)).toMatchObject({ ended: true, owner: '' });
    expect((await store.offers.find(JID))?.data).toEqual(mapOf({ done: 3 }));
    await until('the list is empty', async () => (await store.list()).length === 0);
    await expect(store.begin('batch', JID, order(mapOf({})))).rejects.toThrow('there already');
  });

  it('without a last message leaves nothing', async () => {
    const { store } = await worker('one');
    const run = await store.begin('runner', JID, order(mapOf({})));
    await run.end();
    expect(await store.offers.find(JID)).toBeUndefined();
  });

  it('under a runner leaves the runner until that ends too', async () => {
    const { store } = await worker('one');
    const outer = await store.begin('runner', JID, order(mapOf({})));
    const inner = await store.begin('batch', JID, order(mapOf({ step: 1 })));
    expect((await store.offers.find(JID))?.kind).toBe('batch');
    await inner.end();
    expect((await store.offers.find(JID))?.kind).toBe('runner');
    await outer.end();
    expect(await store.offers.find(JID)).toBeUndefined();
  });
});

test('a run that was offered is taken by a worker, once', async () => {
  const first = await worker('one');
  const second = await worker('two');
  const bus = await nats.connect('event-bus');
  const offers = new RunOffers(new Bucket(bus, 'brine_runs'), box);
  expect(await offers.offer('batch', JID, order(mapOf({})))).toBe(true);
  expect(await offers.offer('batch', JID, order(mapOf({})))).toBe(false);
  await until('one worker has it', () => jidsOf(first, second).length > 0);
  expect(await offers.offer('batch', OTHER, order(mapOf({})))).toBe(true);
  await until('one worker has the next', () => jidsOf(first, second).includes(OTHER));
  await until('both know of both', () =>
    [first, second].every(({ store }) => store.stats().known === 2),
  );
  expect(jidsOf(first, second).sort()).toEqual([JID, OTHER]);
});

test('a call that is handed over begins once, and its process is missed', async () => {
  const first = await worker('one', { leaseMs: KEPT_MS });
  const offers = new RunOffers(new Bucket(await nats.connect('event-bus'), 'brine_runs'), box);
  const input = mapOf({ args: ['a'] });
  expect(await offers.offer('call', JID, { ...order(mapOf({})), input })).toBe(true);
  await until('it is taken', () => first.taken.length === 1);
  expect(first.taken[0]).toMatchObject({ isNew: true, kind: 'runner', input });
  const second = await worker('two', { leaseMs: KEPT_MS });
  await first.kill();
  await until('the second has it', () => second.taken.length === 1);
  expect(second.taken[0]).toMatchObject({ isNew: false, kind: 'runner', input });
});

test('a process without room leaves a call to others', async () => {
  const full = await worker('full', { room: false });
  const offers = new RunOffers(new Bucket(await nats.connect('event-bus'), 'brine_runs'), box);
  await offers.offer('call', JID, order(mapOf({})));
  await until('it is known', () => full.store.stats().known === 1);
  const free = await worker('free');
  await until('the free one has it', () => free.taken.length === 1);
  expect(full.taken).toEqual([]);
});

test('more runs than the limit, and more data, are refused with a text', async () => {
  const { store } = await worker('one', { maxRuns: 1 });
  const run = await store.begin('batch', JID, order(mapOf({})));
  await until('the run is known', () => store.stats().known === 1);
  const next = store.begin('batch', OTHER, order(mapOf({})));
  await expect(next).rejects.toThrow('1 runs are under way');
  const noise = Buffer.alloc(RUN_LIMITS.data + 1);
  for (let at = 0; at < noise.length; at += 1) noise[at] = Math.floor(Math.random() * 256);
  await expect(run.save(mapOf({ noise }))).rejects.toThrow('at most 262144 can be kept');
  // The run is still its process's.
  await run.save(mapOf({ step: 2 }));
});

test('a record is sealed, and does not open under another job id', async () => {
  const { store, bus } = await worker('one');
  await store.begin('batch', JID, order(mapOf({ secret: 'xyzzy' })));
  const bucket = new Bucket(bus, 'brine_runs');
  const entry = await bucket.get(escapeKey('run', JID));
  expect(entry && Buffer.from(entry.value).includes('xyzzy')).toBe(false);
  await bucket.put(escapeKey('run', 'other'), entry?.value ?? new Uint8Array(0));
  await expect(store.offers.find('other')).rejects.toThrow('another run');
});

test("a service without the master's key has runs too, in a bucket of its own", async () => {
  const bus = await nats.connect('job-cache-returner');
  const bucket = new Bucket(bus, 'brine_event_return');
  const store = new RunStore({
    bucket,
    box: NOT_SEALED,
    processId: 'one',
    beatLivesMs: 1_000,
    releasedError: (jid) => new Error(`lost ${jid}`),
    onTrouble: () => undefined,
  });
  const run = await store.begin('batch', JID, order(mapOf({ step: 1 })));
  await run.save(mapOf({ step: 2 }));
  const found = [];
  for await (const entry of bucket.entries()) found.push(runIn(entry, NOT_SEALED)?.data);
  expect(found).toEqual([undefined, mapOf({ step: 2 })]);
  await store.close();
  // The bucket would never forget it.
  await until('its beat is gone', async () => !(await bucket.get(escapeKey('beat', 'one'))));
});
