import type { Published } from '@brine/bus/jobs';
import { PrivateKey } from '@brine/crypt';
import type { AesEpoch } from '@brine/master-state';
import { vectorFile } from '@brine/testing';
import { mapOf, pack } from '@brine/wire';
import { ZmqError } from '@brine/zmq';
import { expect, test } from 'vitest';
import { Sealer } from './frames.ts';
import { Publisher } from './publisher.ts';

const { keys } = vectorFile<{ keys: { pem: string }[] }>('rsa.json');
const KEY: AesEpoch = { epoch: 1, keyString: Buffer.alloc(56, 7).toString('base64') };

function job(jid: string, failed: string[]): Published {
  const now = Date.now();
  return {
    kind: 'job',
    seq: failed.length + 1,
    incarnation: 'i',
    timeUs: now * 1000,
    deliveries: 1,
    subject: 'brine.publications.job',
    written: () => undefined,
    ack: () => undefined,
    nak: () => undefined,
    failed: (error) => void failed.push(`${jid}: ${(error as Error).message}`),
    job: {
      jid,
      publication: pack(mapOf({ jid })),
      load: pack(mapOf({})),
      principal: '',
      user: '',
      fun: 'f',
      tgt: '*',
      tgtType: 'glob',
      minions: [],
      missing: [],
      hidden: false,
      publishedAt: now,
      deadlineAt: now + 60_000,
      notAfter: now + 60_000,
      host: 'h',
      requestId: jid,
    },
  };
}

function publisherOf(send: () => Promise<void>, traces: (jid: string) => boolean): Publisher {
  return new Publisher({
    subscribers: { send },
    epochs: {
      epochAt: () => 1,
      overtaking: () => undefined,
      keyOf: () => Promise.resolve(KEY),
      rotate: () => Promise.resolve(KEY),
    },
    publications: {
      storedJob: () => Promise.reject(new Error('none')),
      appendAgain: () => Promise.resolve(),
    },
    highWater: { read: () => Promise.resolve(0), note: () => undefined },
    sealer: new Sealer(PrivateKey.parse(keys[0]!.pem), {
      signPubMessages: true,
      publishSigningAlgorithm: 'PKCS1v15-SHA1',
    }),
    spans: { traces, recordSpan: () => undefined },
    announceSent: () => undefined,
    topics: { zmqFiltering: false, orderMasters: false },
    onExpired: () => undefined,
    onDurable: () => undefined,
    onTrouble: () => undefined,
  });
}

async function* feed(jids: readonly string[], failed: string[]): AsyncGenerator<Published, void> {
  await Promise.resolve();
  for (const jid of jids) yield job(jid, failed);
}

test('a publication that can not be handled is skipped, and those after it go out', async () => {
  const failed: string[] = [];
  const publisher = publisherOf(
    () => Promise.resolve(),
    (jid) => {
      if (jid === 'bad') throw new RangeError('odd');
      return false;
    },
  );
  await publisher.seed(() => Promise.resolve({ times: [], lastSeq: 0 }), Date.now());
  await publisher.run(feed(['one', 'bad', 'two'], failed));
  expect(failed).toEqual(['bad: odd']);
  expect(publisher.status).toMatchObject({ sent: 3, lost: 1 });
});

test('a socket that is closed is no fault of a publication', async () => {
  const failed: string[] = [];
  const closed = new ZmqError('SALT_ZMQ_CLOSED', 'the socket is closed');
  const publisher = publisherOf(
    () => Promise.reject(closed),
    () => false,
  );
  await publisher.seed(() => Promise.resolve({ times: [], lastSeq: 0 }), Date.now());
  await expect(publisher.run(feed(['one', 'two'], failed))).rejects.toBe(closed);
  expect(failed).toEqual([]);
});
