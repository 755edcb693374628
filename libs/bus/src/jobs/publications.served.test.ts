import type { Job } from '@brine/job';
import type { TestNats } from '@brine/testing';
import { startNats } from '@brine/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Bus } from '../connection/connect.ts';
import type { Published } from './publication.ts';
import { packJob, unpackJob } from './publication.ts';
import { PublicationReader } from './publication-reader.ts';
import { PublicationWriter, waitWritten } from './publication-writer.ts';

let nats: TestNats;
let worker: Bus;
let publisher: Bus;
let store: Bus;

beforeAll(async () => {
  nats = await startNats();
  worker = await nats.connect('worker-pool');
  publisher = await nats.connect('publisher');
  store = await nats.connect('job-cache-returner');
}, 600_000);

afterAll(() => nats.close());

function job(requestId: string, more: Partial<Job> = {}): Job {
  return {
    jid: `2026${requestId}`,
    publication: Buffer.from([0x80]),
    load: Buffer.from([0x81, 0xa1, 0xff, 0x01]),
    principal: 'root key',
    user: 'root',
    fun: 'test.ping',
    tgt: ['a', 'b.c'],
    tgtType: 'list',
    minions: ['a', 'b.c'],
    missing: [],
    publishedAt: 1_763_658_000_000,
    deadlineAt: 1_763_661_600_000,
    notAfter: 1_763_658_030_000,
    hidden: false,
    host: 'gw',
    requestId,
    ...more,
  };
}

async function take(reader: PublicationReader, count: number): Promise<Published[]> {
  const items: Published[] = [];
  for await (const item of reader) if (items.push(item) === count) break;
  return items;
}

test('a job comes back as it was packed, anything else is refused', () => {
  const bytes = Buffer.from(packJob(job('r')));
  expect(unpackJob(bytes)).toEqual(job('r'));
  for (let length = 0; length < bytes.length; length++) {
    expect(() => unpackJob(bytes.subarray(0, length))).toThrow();
  }
  expect(() => unpackJob(packJob({ ...job('r'), minions: [1] } as unknown as Job))).toThrow();
});

test('the same request is one job; its second append brings the stored one', async () => {
  const writer = new PublicationWriter(worker);
  const first = await writer.appendJob(job('once'));
  const again = await writer.appendJob(job('once', { jid: 'another' }));
  expect(first.duplicate).toBe(false);
  expect(again).toEqual({ seq: first.seq, duplicate: true, job: job('once') });
});

test('a job for 100,000 targets is one message, and a duplicate of it is found whole', async () => {
  const minions = Array.from({ length: 100_000 }, (_, n) => `minion-${n}.example.com`);
  const large = job('large', { minions, tgt: minions });
  const writer = new PublicationWriter(worker);
  const { seq } = await writer.appendJob(large);
  const reader = new PublicationReader(publisher, { from: { seq } });
  const [published] = await take(reader, 1);
  expect(published?.kind === 'job' && published.job.minions.length).toBe(100_000);
  expect((await writer.appendJob(large)).job.minions.length).toBe(100_000);
  reader.close();
});

test('readers see jobs, agains and markers in one order, with rising times', async () => {
  const writer = new PublicationWriter(worker);
  const started = Date.now();
  const { seq } = await writer.appendJob(job('order'));
  await writer.appendAgain({ jid: '2026order', seq, notAfter: 5 });
  await writer.appendMarker({ epoch: 2 });
  const reader = new PublicationReader(publisher, { from: { seq } });
  const [one, two, three] = await take(reader, 3);
  expect(one).toMatchObject({ kind: 'job', job: job('order') });
  expect(two).toMatchObject({ kind: 'again', again: { jid: '2026order', seq, notAfter: 5 } });
  expect(three).toMatchObject({ kind: 'marker', marker: { epoch: 2 } });
  const times = [one, two, three].map((published) => published?.timeUs ?? 0);
  expect([...times].sort((a, b) => a - b)).toEqual(times);
  expect(Math.abs((times[0] ?? 0) / 1_000 - started)).toBeLessThan(5_000);
  expect(await writer.storedJob(seq)).toEqual(job('order'));
  reader.close();

  const byTime = new PublicationReader(publisher, { from: { timeMs: started - 1 } });
  expect((await take(byTime, 1))[0]).toMatchObject({ seq });
  byTime.close();
});

test('parts of one job are each sent again, once for a slot', async () => {
  const writer = new PublicationWriter(worker);
  const again = { jid: '2026parts', notAfter: 5 };
  const slot = 's1';
  expect(await writer.appendAgain({ ...again, seq: 1 }, { slot })).toMatchObject({
    duplicate: false,
  });
  expect(await writer.appendAgain({ ...again, seq: 2 }, { slot })).toMatchObject({
    duplicate: false,
  });
  expect(await writer.appendAgain({ ...again, seq: 2 }, { slot })).toMatchObject({
    duplicate: true,
  });
});

test('a repetition for some brings its publication along, also a large one', async () => {
  const writer = new PublicationWriter(publisher);
  const at = { jid: 'j', seq: 1, notAfter: 5 };
  const small = { ...at, only: { minions: ['a', 'b.c'], publication: Buffer.from([0x80, 0xff]) } };
  const large = { ...at, only: { minions: ['a'], publication: Buffer.alloc(900_000, 7) } };
  const { seq } = await writer.appendAgain(small, { slot: 'durable-r.1.1.0' });
  expect(await writer.appendAgain(large, { slot: 'durable-r.1.1.0' })).toEqual({
    seq,
    duplicate: true,
  });
  await writer.appendAgain(large, { slot: 'durable-r.1.1.1' });
  const reader = new PublicationReader(publisher, { from: { seq } });
  const agains = (await take(reader, 2)).flatMap((one) =>
    one.kind === 'again' ? [one.again] : [],
  );
  expect(agains[0]).toEqual(small);
  expect(agains[1]).toMatchObject({ ...at, only: { minions: ['a'] } });
  const same = Buffer.compare(agains[1]?.only?.publication ?? Buffer.of(), large.only.publication);
  expect(same).toBe(0);
  reader.close();
});

test('a worker that begins learns the last marker and then each new one', async () => {
  const writer = new PublicationWriter(worker);
  await writer.appendMarker({ epoch: 7 });
  expect(await writer.appendMarker({ epoch: 7 })).toMatchObject({ duplicate: true });
  const reader = new PublicationReader(worker, { kinds: ['marker'], from: 'last' });
  expect((await take(reader, 1))[0]).toMatchObject({ marker: { epoch: 7 } });
  await writer.appendMarker({ epoch: 8 });
  expect((await take(reader, 1))[0]).toMatchObject({ marker: { epoch: 8 } });
  reader.close();
});

test('the wait for "written" ends when all have reported, or names the missing', async () => {
  const writer = new PublicationWriter(worker);
  const wait = waitWritten(worker, ['store', 'host:a'], 5_000);
  const { seq } = await writer.appendJob(job('written'), { written: wait.subject });
  for (const [bus, by] of [
    [store, 'store'],
    [await nats.connect('event-bus'), 'host:a'],
  ] as const) {
    const reader = new PublicationReader(bus, { from: { seq } });
    for (const published of await take(reader, 1)) published.written(by);
    reader.close();
  }
  expect(await wait.done).toEqual({ missing: [] });
  expect(await waitWritten(worker, ['store'], 100).done).toEqual({ missing: ['store'] });
  expect(await waitWritten(worker, [], 5_000).done).toEqual({ missing: [] });
});

test('"written" is never said to an address that is not a worker’s', async () => {
  const writer = new PublicationWriter(worker);
  const options = { written: 'brine.publications.again' };
  const { seq } = await writer.appendJob(job('forged'), options);
  const owner = await nats.connect('event-bus');
  const reader = new PublicationReader(owner, { from: { seq } });
  for (const published of await take(reader, 1)) published.written('host:a');
  await owner.flush();
  await writer.appendMarker({ epoch: 99 });
  expect((await take(reader, 1))[0]).toMatchObject({ kind: 'marker', seq: seq + 1 });
  reader.close();
});
