import { Bucket, type Bus, escapeKey } from '@brine/bus';
import {
  PublicationReader,
  type PublicationTimes,
  PublicationWriter,
  readPublicationTimes,
} from '@brine/bus/jobs';
import { Crypticle, PrivateKey, SecretBox } from '@brine/crypt';
import type { Job } from '@brine/job';
import { AesEpochs } from '@brine/master-state';
import { startNats, type TestNats, vectorFile } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { isMap, mapOf, pack, type SaltMap, textOf, unpack } from '@brine/wire';
import { readPublication } from '@brine/wire/frames';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { MAX_LATER_WHEN_SENT } from './again-rule.ts';
import { Sealer } from './frames.ts';
import { Publisher } from './publisher.ts';
import { BucketHighWater } from './serials.ts';

const { keys } = vectorFile<{ keys: { pem: string }[] }>('rsa.json');
const masterKey = PrivateKey.parse(keys[0]!.pem);
const box = SecretBox.fromMasterKey(masterKey, 'aes');

let nats: TestNats;
let worker: Bus;
let writer: PublicationWriter;
const closing: { close(): unknown }[] = [];

beforeEach(async () => {
  nats = await startNats();
  worker = await nats.connect('worker-pool');
  writer = new PublicationWriter(worker);
});

afterEach(async () => {
  for (const thing of closing.splice(0).reverse()) await thing.close();
  await nats.close();
});

function record(jid: string, more: Partial<Job> = {}): Job {
  const [now, call] = [Date.now(), { fun: 'test.ping', tgt: '*' }];
  return {
    ...call,
    jid,
    publication: pack(mapOf({ ...call, arg: [], tgt_type: 'glob', jid, ret: '' })),
    load: pack(mapOf({ jid })),
    principal: 'root key',
    user: 'root',
    tgtType: 'glob',
    minions: ['a'],
    missing: [],
    publishedAt: now,
    deadlineAt: now + 3_600_000,
    notAfter: now + 30_000,
    hidden: false,
    host: 'h',
    requestId: jid,
    ...more,
  };
}

interface Sent {
  readonly jid: string;
  readonly serial: number;
  readonly frame: Buffer;
}

interface Started {
  readonly publisher: Publisher;
  readonly epochs: AesEpochs;
  readonly sent: Sent[];
  readonly expired: string[];
  readonly spans: ReturnType<typeof vi.fn>;
  readonly told: ReturnType<typeof vi.fn>;
}

/**
 * A publisher over a real stream; its subscribers are an array. `meanwhile` comes about after its
 * first look at the stream.
 */
async function start(meanwhile = async (): Promise<void> => {}): Promise<Started> {
  const bus = await nats.connect('publisher');
  const epochs = await AesEpochs.connect(bus, box);
  const sent: Sent[] = [];
  const spans = vi.fn();
  const told = vi.fn();
  const expired: string[] = [];
  const send = (frames: readonly Uint8Array[]): Promise<void> => {
    const frame = Buffer.from(frames[0]!);
    const opened = open(readPublication(frame).load, epochs);
    sent.push({ jid: textOf(opened, 'jid') ?? '', serial: Number(opened.get('serial')), frame });
    return Promise.resolve();
  };
  const highWater = new BucketHighWater(new Bucket(bus, 'brine_secrets'));
  const publisher = new Publisher({
    subscribers: { send },
    epochs,
    publications: new PublicationWriter(bus),
    highWater,
    sealer: new Sealer(masterKey, {
      signPubMessages: true,
      publishSigningAlgorithm: 'PKCS1v15-SHA1',
    }),
    spans: { traces: () => true, recordSpan: spans },
    announceSent: told,
    topics: { zmqFiltering: false, orderMasters: false },
    onExpired: (jid) => expired.push(jid),
    onDurable: () => undefined,
    onTrouble: () => undefined,
  });
  const sinceMs = Date.now() - 30_000;
  let looks = 0;
  const times = async (): Promise<PublicationTimes> => {
    const seen = await readPublicationTimes(bus, { count: 1000, sinceMs });
    if (looks++ === 0) await meanwhile();
    return seen;
  };
  const seq = await publisher.seed(times, sinceMs);
  const reader = new PublicationReader(bus, { from: { seq } });
  closing.push(epochs, reader);
  void publisher.run(reader);
  return { publisher, epochs, sent, expired, spans, told };
}

function open(load: Uint8Array, epochs: AesEpochs): SaltMap {
  for (const epoch of [2, 1]) {
    const key = epochs.byEpoch(epoch);
    if (key === undefined) continue;
    try {
      const opened = new Crypticle(key.keyString).open(load);
      const value = opened === undefined ? undefined : unpack(opened);
      if (isMap(value)) return value;
    } catch {
      // Sealed with the key of another epoch.
    }
  }
  throw new Error('opens with no key');
}

const jidsOf = (sent: readonly Sent[]): string[] => sent.map(({ jid }) => jid);

test('a repetition for some minions needs the job no more, and is not sent after its time', async () => {
  const { sent, publisher } = await start();
  const publication = pack(mapOf({ jid: 'long-gone', tgt: ['a'], tgt_type: 'list' }));
  const only = { minions: ['a'], publication };
  const at = { jid: 'long-gone', seq: 999_999 };
  await writer.appendAgain({ ...at, notAfter: Date.now() - 1, only }, { slot: 'durable-1' });
  await writer.appendAgain({ ...at, notAfter: Date.now() + 60_000, only }, { slot: 'durable-2' });
  await until('the one in time is sent', () => expect(jidsOf(sent)).toEqual(['long-gone']));
  expect(publisher.status).toMatchObject({ sentAgain: 1, expired: 1, lost: 0 });
});

test('a repetition for some minions names those alone, under a higher serial', async () => {
  const { sent, epochs } = await start();
  const jid = '20261122100000000001';
  const { seq } = await writer.appendJob(record(jid, { minions: ['a', 'b', 'c'] }));
  const at = { jid, seq, notAfter: Date.now() + 60_000 };
  await writer.appendAgain({ ...at, waiting: ['c', 'else'] }, { slot: '1' });
  for (const id of ['a', 'b']) {
    const publication = pack(mapOf({ jid, tgt: [id], tgt_type: 'list' }));
    await writer.appendAgain({ ...at, only: { minions: [id], publication } }, { slot: id });
  }
  await until('all four are sent', () => expect(jidsOf(sent)).toEqual([jid, jid, jid, jid]));
  const targets = sent.map(({ frame }) => open(readPublication(frame).load, epochs).get('tgt'));
  expect(targets.slice(1)).toEqual([['c'], ['a'], ['b']]);
  const serials = sent.map(({ serial }) => serial);
  expect(serials).toEqual([...new Set(serials)].sort((a, b) => a - b));
});

test('publications go out in stream order, sealed and signed, with rising serials', async () => {
  const { sent, spans, told, publisher } = await start();
  const jids = Array.from({ length: 50 }, (_, n) => `2026112017103700${String(1000 + n)}`);
  await Promise.all(jids.map((jid) => writer.appendJob(record(jid))));
  await until('all 50 jobs are sent', () => expect(sent).toHaveLength(50));
  expect(sent.every(({ serial }, n) => n === 0 || serial > sent[n - 1]!.serial)).toBe(true);
  expect(Math.abs(sent[0]!.serial / 1000 - Date.now())).toBeLessThan(120_000);
  const { load, sig, sigAlgo } = readPublication(sent[0]!.frame);
  expect(sigAlgo).toBe('PKCS1v15-SHA1');
  expect(masterKey.publicKey.verify(load, sig!, 'PKCS1v15-SHA1')).toBe(true);
  expect(spans).toHaveBeenCalledTimes(50);
  // The workers get the very time that the span names.
  for (const [at, [span]] of spans.mock.calls.entries()) {
    const word = told.mock.calls[at]![0];
    expect(word.jid).toBe(span.jid);
    const offsetUs = span.attributes['brine.sent_after_us'];
    expect(Math.abs(word.sentMs - span.startMs - offsetUs / 1000)).toBeLessThan(0.001);
    expect(word.sentMs).toBeLessThan(span.endMs + 1_000); // spans follow a clock that is set back
  }
  expect(publisher.status).toMatchObject({ sent: 50, expired: 0, epoch: 1 });
});

test('a second publisher, and one that starts later, send the same serials', async () => {
  const one = await start();
  const other = await start();
  await Promise.all(
    Array.from({ length: 30 }, (_, n) => writer.appendJob(record(`a${String(n)}`))),
  );
  for (const { sent } of [one, other]) {
    await until('all 30 are sent', () => expect(sent).toHaveLength(30));
  }
  const late = await start();
  await until('the late one has sent all', () => expect(late.sent).toHaveLength(30));
  const serials = (sent: readonly Sent[]) => sent.map(({ jid, serial }) => [jid, serial]);
  expect(serials(other.sent)).toEqual(serials(one.sent));
  expect(serials(late.sent)).toEqual(serials(one.sent));
});

test('a publication past its time is not sent', async () => {
  const { sent, publisher, expired } = await start();
  await writer.appendJob(record('old', { notAfter: Date.now() - 1 }));
  await writer.appendJob(record('new'));
  await until('the new job is sent', () => expect(jidsOf(sent)).toEqual(['new']));
  expect(expired).toEqual(['old']);
  expect(publisher.status.expired).toBe(1);
});

test('an again sends the same jid with a new serial, once per slot', async () => {
  const { sent, publisher } = await start();
  const { seq } = await writer.appendJob(record('j'));
  const again = { jid: 'j', seq, notAfter: Date.now() + 5000 };
  await writer.appendAgain(again, { slot: '1' });
  await writer.appendAgain(again, { slot: '1' });
  await writer.appendAgain({ ...again, jid: 'of a stream that was lost' }, { slot: '1' });
  await until('the job is sent again', () => expect(jidsOf(sent)).toEqual(['j', 'j']));
  await writer.appendAgain(again, { slot: '2' });
  await until('the second slot is sent', () => expect(sent).toHaveLength(3));
  expect(sent[1]!.serial).toBeGreaterThan(sent[0]!.serial);
  expect(publisher.status).toMatchObject({ sentAgain: 2, lost: 1 });
  const { sent: elsewhere } = await start();
  await until('another publisher sent all', () => expect(elsewhere).toHaveLength(3));
});

test('an again that comes to its turn after more jobs than minions remember is left out', async () => {
  const { seq } = await writer.appendJob(record('early'));
  for (let number = 0; number < MAX_LATER_WHEN_SENT - 1; number += 1) {
    await writer.appendJob(record(`j${number}`));
  }
  const again = { jid: 'early', seq, notAfter: Date.now() + 60_000 };
  await writer.appendAgain(again, { slot: '1' });
  await writer.appendJob(record('last'));
  await writer.appendAgain(again, { slot: '2' });
  await writer.appendJob(record('end'));
  const { sent, publisher } = await start();
  await until('the last job is sent', () => expect(jidsOf(sent)).toContain('end'));
  expect(jidsOf(sent).filter((jid) => jid === 'early')).toHaveLength(2);
  expect(publisher.status).toMatchObject({ sentAgain: 1, expired: 1 });
});

test('from a marker on the next key seals, before it the last one', async () => {
  const { sent, epochs, publisher } = await start();
  const first = epochs.current();
  await writer.appendJob(record('before'));
  await until('the job before it is sent', () => expect(sent).toHaveLength(1));
  const second = await epochs.rotate();
  await writer.appendJob(record('after'));
  await until('the job after it is sent', () => expect(sent).toHaveLength(2));
  const opens = (key: string, n: number): boolean => {
    try {
      return new Crypticle(key).open(readPublication(sent[n]!.frame).load) !== undefined;
    } catch {
      return false;
    }
  };
  expect([opens(first.keyString, 0), opens(second.keyString, 0)]).toEqual([true, false]);
  expect([opens(first.keyString, 1), opens(second.keyString, 1)]).toEqual([false, true]);
  expect(publisher.status.epoch).toBe(2);
});

test('a job that a start reads back from before a new key is sealed with the new one', async () => {
  const { sent, epochs } = await start();
  await writer.appendJob(record('before'));
  await until('the job before it is sent', () => expect(sent).toHaveLength(1));
  const { keyString } = await epochs.rotate();
  await writer.appendJob(record('after'));
  await until('the job after it is sent', () => expect(sent).toHaveLength(2));
  const late = await start();
  await until('it has sent both', () => expect(jidsOf(late.sent)).toEqual(['before', 'after']));
  for (const { frame } of late.sent) {
    expect(new Crypticle(keyString).open(readPublication(frame).load)).toBeDefined();
  }
  expect(late.sent.map(({ serial }) => serial)).toEqual(sent.map(({ serial }) => serial));
  expect(late.sent[0]!.serial).toBeLessThan(late.sent[1]!.serial);
});

test('a clock that went back after the stream was lost begins a new AES key', async () => {
  const before = await start();
  await writer.appendJob(record('a'));
  await until('the job is sent', () => expect(before.sent).toHaveLength(1));
  for (const thing of closing.splice(0).reverse()) await thing.close();
  // As if the clock had been an hour ahead when the last serial was given.
  const ahead = String((Date.now() + 3_600_000) * 1000);
  await new Bucket(worker, 'brine_secrets').put(escapeKey('serial', '1'), Buffer.from(ahead));
  const after = await start();
  await writer.appendJob(record('b'));
  await until('the job after the loss is sent', () => expect(jidsOf(after.sent)).toContain('b'));
  expect(after.publisher.status).toMatchObject({ epoch: 2, clockRotations: 1 });
});

test('what another publisher sends while one starts is no sign of a lost stream', async () => {
  const other = await start();
  await writer.appendJob(record('a'));
  await until('the first job is sent', () => expect(other.sent).toHaveLength(1));
  const kept = new BucketHighWater(new Bucket(worker, 'brine_secrets'));
  const { publisher } = await start(async () => {
    await writer.appendJob(record('b'));
    await until('the second job is sent', () => expect(other.sent).toHaveLength(2));
    const { serial } = other.sent[1]!;
    await until('its serial is kept', async () => expect(await kept.read(1)).toBe(serial));
  });
  expect(publisher.status).toMatchObject({ epoch: 1, clockRotations: 0 });
});

test('the high water of serials outlives the process', async () => {
  const { sent } = await start();
  await writer.appendJob(record('a'));
  await until('the job is sent', () => expect(sent).toHaveLength(1));
  const kept = new BucketHighWater(new Bucket(worker, 'brine_secrets'));
  await until('the serial is kept', async () => expect(await kept.read(1)).toBe(sent[0]!.serial));
  expect(await kept.read(7)).toBe(0);
});
