import { Bucket, escapeKey } from '@brine/bus';
import { PublicationWriter } from '@brine/bus/jobs';
import { SecretBox } from '@brine/crypt';
import { startNats, type TestNats, vectorFile } from '@brine/testing';
import { growsOld, until } from '@brine/testing/waits';
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest';
import { AesEpochs } from './aes-epochs.ts';

const { keys } = vectorFile<{ keys: { pem: string }[] }>('rsa.json');
const box = SecretBox.fromMasterKey(keys[0]!.pem, 'aes');
let nats: TestNats;
const open: AesEpochs[] = [];

beforeEach(async () => {
  nats = await startNats();
});

afterEach(async () => {
  for (const epochs of open.splice(0)) epochs.close();
  await nats.close();
});

afterAll(() => vi.restoreAllMocks());

async function connect(name: 'worker-pool' | 'publisher' | 'event-bus'): Promise<AesEpochs> {
  const epochs = await AesEpochs.connect(await nats.connect(name), box);
  open.push(epochs);
  return epochs;
}

test('processes that start at once agree on the first key', async () => {
  const all = await Promise.all([
    connect('worker-pool'),
    connect('worker-pool'),
    connect('publisher'),
    connect('event-bus'),
  ]);
  const first = all[0].current();
  expect(first.epoch).toBe(1);
  expect(first.keyString).toHaveLength(76);
  for (const epochs of all) expect(epochs.current()).toEqual(first);
});

test('a rotation hands the next key to all before the marker, and all follow it', async () => {
  const worker = await connect('worker-pool');
  const publisher = await connect('publisher');
  const owner = await connect('event-bus');
  const before = worker.current();
  const next = await owner.rotate();
  expect(next.epoch).toBe(2);
  expect(next.keyString).not.toBe(before.keyString);
  await until('worker and publisher know the next key', () => {
    for (const epochs of [worker, publisher]) expect(epochs.current()).toEqual(next);
    return true;
  });
  expect(worker.byEpoch(1)).toEqual(before);
});

test('a key that was replaced long ago is forgotten by all, and the last ones stay', async () => {
  const worker = await connect('worker-pool');
  const owner = await connect('event-bus');
  await owner.rotate();
  await owner.rotate();
  await until('the worker knows epoch 3', () => expect(worker.current().epoch).toBe(3));
  expect(await owner.prune()).toBe(0);
  const later = Date.now() + 3_700_000;
  expect(await owner.prune(later)).toBe(2);
  await until('the worker has forgotten the pruned epochs', () =>
    expect(worker.byEpoch(1) ?? worker.byEpoch(2)).toBeUndefined(),
  );
  expect(worker.current().epoch).toBe(3);
  const fresh = await connect('publisher');
  expect(fresh.current()).toEqual(owner.current());
  expect(fresh.unreadable).toBe(0);
  expect((await owner.rotate()).epoch).toBe(4);
});

test('a log-in during a rotation gets the key of its marker', async () => {
  const worker = await connect('worker-pool');
  const owner = await connect('event-bus');
  const rotating = owner.rotate();
  await until('the worker holds log-ins until epoch 2', () => expect(worker.holding).toBe(2));
  await rotating;
  expect(await worker.settled(3_000)).toEqual(owner.current());
});

test('two rotations at once begin one epoch', async () => {
  const publisher = await connect('publisher');
  const owner = await connect('event-bus');
  const [one, other] = await Promise.all([publisher.rotate(), owner.rotate()]);
  expect(one).toEqual(other);
  expect(one.epoch).toBe(2);
});

test('the epoch of a publication is that of the last marker before it', async () => {
  const owner = await connect('event-bus');
  const writer = new PublicationWriter(await nats.connect('event-bus'));
  const { seq: early } = await writer.appendAgain({ jid: '1', seq: 1, notAfter: 1 });
  await owner.rotate();
  const { seq: late } = await writer.appendAgain({ jid: '2', seq: 1, notAfter: 1 });
  expect(owner.epochAt(early)).toBe(1);
  expect(owner.epochAt(late)).toBe(2);
  const fresh = await connect('publisher');
  expect(fresh.epochAt(early)).toBe(1);
  expect(fresh.epochAt(late)).toBe(2);
});

test('a process that starts after the markers were purged takes the last epoch', async () => {
  const owner = await connect('event-bus');
  const bus = await nats.connect('event-bus');
  const { epoch } = await owner.rotate();
  await until('the note of the current key is written', async () => {
    const note = await new Bucket(bus, 'brine_secrets').get(escapeKey('aes-current'));
    expect(note).toBeDefined();
    return true;
  });
  await bus.connection.request('$JS.API.STREAM.PURGE.PUBLICATIONS', '{}');
  const fresh = await connect('worker-pool');
  expect(fresh.current().epoch).toBe(epoch);
});

test('keys sealed with another master key are not taken', async () => {
  await connect('worker-pool');
  const other = SecretBox.fromMasterKey(keys[1]!.pem, 'aes');
  const bus = await nats.connect('worker-pool');
  await expect(AesEpochs.connect(bus, other)).rejects.toMatchObject({ code: 'BUS_BODY_GONE' });
});

test('a publisher that goes is noticed by the others, whether it says so or not', async () => {
  const stays = await connect('publisher');
  const gone = vi.fn();
  stays.onPublisherGone(gone);
  const [leaves, worker] = [await connect('publisher'), await connect('worker-pool')];
  const bus = await nats.connect('publisher');
  open.push(await AesEpochs.connect(bus, box));
  // All have been heard once each has announced itself.
  await growsOld('what each has announced', 1_500);
  worker.close();
  leaves.close();
  await until('the end that was announced is told', () => expect(gone).toHaveBeenCalledTimes(1));
  await bus.close();
  await until(
    'the end that was not announced is told',
    () => expect(gone).toHaveBeenCalledTimes(2),
    { withinMs: 30_000 },
  );
});
