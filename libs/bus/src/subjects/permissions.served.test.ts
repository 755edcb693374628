import type { TestNats } from '@brine/testing';
import { startNats } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { onPresence, publishPresence } from '../broadcasts/presence-reports.ts';
import { askJetStream } from '../connection/js-api.ts';
import { EventReader } from '../events/event-reader.ts';
import { EventWriter } from '../events/event-writer.ts';
import { PublicationReader } from '../jobs/publication-reader.ts';
import { PublicationWriter } from '../jobs/publication-writer.ts';
import { Bucket } from '../kv/bucket.ts';
import { ask, serve } from '../rpc/queries.ts';
import { packRequest } from '../rpc/request-frame.ts';
import { RequestReceiver } from '../rpc/request-receiver.ts';
import { ensureStreams, waitForStreams } from '../streams/ensure-streams.ts';
import { escapeKey } from './escape.ts';
import type { ServiceName } from './names.ts';
import { BUCKETS, REQUEST_CLASSES, SERVICE_NAMES, subjects } from './names.ts';

const event = { kind: 'ret', tag: 't', body: Buffer.from([0x80]) } as const;
const forbidden = { code: 'BUS_FORBIDDEN' };

describe.each([
  ['a password', false],
  ['a certificate', true],
])('known by %s', (_, certificates) => {
  let nats: TestNats;

  beforeAll(async () => {
    nats = await startNats({ certificates });
  }, 600_000);

  afterAll(() => nats.close());

  test.each([
    'req-gateway',
    'publisher',
    'job-cache-returner',
    'syndic-relay',
    'http-api',
  ] as const)('%s cannot append an event of a return', async (name) => {
    const bus = await nats.connect(name);
    await expect(new EventWriter(bus).append(event)).rejects.toMatchObject(forbidden);
  });

  test('the HTTP API reads the fleet and uses its sessions, which others may not', async () => {
    const key = escapeKey('a');
    const api = await nats.connect('http-api');
    await new Bucket(api, 'brine_http_sessions').put(key, Buffer.from('x'), { livesMs: 60_000 });
    const isOfFleet = (name: string): boolean => /^brine_(?:keys|minions|presence)$/.test(name);
    for (const name of BUCKETS.filter((one) => one !== 'brine_http_sessions')) {
      const bucket = new Bucket(api, name);
      const got = bucket.get(key);
      if (isOfFleet(name)) await expect(got).resolves.toBeUndefined();
      else await expect(got).rejects.toMatchObject(forbidden);
      await expect(bucket.put(key, Buffer.from('x'))).rejects.toMatchObject(forbidden);
    }
    for (const name of ['worker-pool', 'runner-pool', 'publisher', 'req-gateway'] as const) {
      const sessions = new Bucket(await nats.connect(name), 'brine_http_sessions');
      await expect(sessions.get(key)).rejects.toMatchObject(forbidden);
      await expect(sessions.put(key, Buffer.from('x'))).rejects.toMatchObject(forbidden);
    }
  });

  test('a gateway can neither publish jobs nor read or write hot state', async () => {
    const bus = await nats.connect('req-gateway');
    const marker = new PublicationWriter(bus).appendMarker({ epoch: 1 });
    await expect(marker).rejects.toMatchObject(forbidden);
    const keys = new Bucket(bus, 'brine_keys');
    await expect(keys.get(escapeKey('a'))).rejects.toMatchObject(forbidden);
    await expect(keys.put(escapeKey('a'), Buffer.from('x'))).rejects.toMatchObject(forbidden);
    await expect(new EventReader(bus)[Symbol.asyncIterator]().next()).rejects.toMatchObject(
      forbidden,
    );
  });

  test.each(SERVICE_NAMES.filter((name) => name !== 'event-bus' && name !== 'admin'))(
    '%s cannot make, change, purge or delete a stream',
    async (name) => {
      const bus = await nats.connect(name);
      for (const verb of ['CREATE', 'UPDATE', 'PURGE', 'DELETE']) {
        const asked = askJetStream(bus, `STREAM.${verb}.EVENTS`, { name: 'EVENTS' });
        await expect(asked).rejects.toMatchObject(forbidden);
      }
    },
  );

  test('a request whose reply subject is an event’s is not answered there', async () => {
    const worker = await nats.connect('worker-pool');
    const owner = await nats.connect('event-bus');
    const gateway = await nats.connect('req-gateway');
    let asked = 0;
    const receiver = new RequestReceiver(worker, { workerId: 'w', host: 'h' });
    receiver.serve(() => {
      asked++;
      return Promise.resolve({ kind: 'reply', body: Buffer.from('forged') });
    });
    await worker.flush();
    const reader = new EventReader(owner, { from: 'new' });
    await until('the reader reads', () => reader.reading);
    const head = { id: 'x', host: 'h', deadlineMs: Date.now() + 5_000 };
    for (const cls of REQUEST_CLASSES) {
      const packed = packRequest(head, Buffer.alloc(0));
      gateway.connection.publish(subjects.request(cls, 'w'), packed, { reply: 'brine.events.ret' });
    }
    await gateway.flush();
    await new EventWriter(worker).append({ ...event, tag: 'honest' });
    const { value } = await reader[Symbol.asyncIterator]().next();
    expect(value).toMatchObject({ tag: 'honest' });
    expect(reader.strays).toBe(0);
    expect(asked).toBe(0);
    expect(receiver.stats().unreadable).toBe(3);
    reader.close();
  });

  test('the store answers questions, and nothing that a worker asks the server', async () => {
    const worker = await nats.connect('worker-pool');
    const store = await nats.connect('job-cache-returner');
    const slots: string[] = [];
    const serving = serve(store, 'jobs.slot', (question) => [question, 'known']);
    await store.flush();
    expect(await ask(worker, 'jobs.slot', 'web1', 10_000)).toEqual(['web1', 'known']);
    await serving.close();
    const slot = worker.inbox.open(
      '',
      (msg) => slots.push(msg.subject),
      () => undefined,
    );
    const forged = store.inbox.request(slot.subject, 'forged', { timeoutMs: 10_000 });
    await expect(forged).rejects.toMatchObject(forbidden);
    expect(slots).toEqual([]);
    slot.close();
  });

  test('a publisher keeps AES keys and serials, and makes no syndic and no user', async () => {
    const secrets = new Bucket(await nats.connect('publisher'), 'brine_secrets');
    await secrets.put(escapeKey('serial', '7'), Buffer.from('1'));
    for (const kind of ['syndic', 'userkeys']) {
      const put = secrets.put(escapeKey(kind, 'a'), Buffer.from([1]));
      await expect(put).rejects.toMatchObject(forbidden);
    }
  });

  test('only a publisher tells of connections, and only workers hear it', async () => {
    const worker = await nats.connect('runner-pool');
    const heard: string[] = [];
    const take = (word: Uint8Array): void => void heard.push(Buffer.from(word).toString());
    const stop = onPresence(worker, 'told', take, () => undefined);
    await worker.flush();
    const gateway = await nats.connect('req-gateway');
    publishPresence(gateway, 'told', Buffer.from('forged'));
    await gateway.flush();
    const publisher = await nats.connect('publisher');
    publishPresence(publisher, 'told', Buffer.from('true'));
    await until('the word of the publisher is heard', () => heard.length > 0);
    expect(heard).toEqual(['true']);
    stop();
  });

  test('a worker asks the one that owns presence, and is answered', async () => {
    const owner = await nats.connect('runner-pool');
    const other = await nats.connect('worker-pool');
    const serving = serve(owner, 'presence.ask', (question) => [question, 'known']);
    await owner.flush();
    expect(await ask(other, 'presence.ask', 'web1', 5_000)).toEqual(['web1', 'known']);
    await serving.close();
    const gateway = await nats.connect('req-gateway');
    await expect(ask(gateway, 'presence.ask', 'web1', 5_000)).rejects.toMatchObject(forbidden);
  });

  test('each service may do its own work', async () => {
    const connect = (name: ServiceName) => nats.connect(name);
    const worker = await connect('worker-pool');
    for (const bucket of ['brine_keys', 'brine_sessions', 'brine_requests'] as const) {
      await new Bucket(worker, bucket).put(escapeKey('k'), Buffer.from('v'));
    }
    await waitForStreams(worker);
    const publisher = await connect('publisher');
    await waitForStreams(publisher);
    const secrets = new Bucket(publisher, 'brine_secrets');
    await secrets.create(escapeKey('aes', '1'), Buffer.from('v'));
    const watch = secrets.watch({ onChange: () => undefined, onReset: () => undefined });
    await watch.whenReady();
    await new PublicationWriter(publisher).appendAgain({ jid: 'j', seq: 1, notAfter: 1 });
    const owner = await connect('event-bus');
    await ensureStreams(owner, { totalBytes: 1024 ** 3 / 2 });
    const relay = await connect('syndic-relay');
    await new EventWriter(relay).append({ ...event, kind: 'syndic' });
    const api = await connect('http-api');
    await waitForStreams(api);
    await new EventWriter(api).append({ ...event, kind: 'hook', tag: 'salt/netapi/hook' });
    const store = await connect('job-cache-returner');
    const readers = [
      new PublicationReader(store, { durable: 'store' }),
      new EventReader(store, { durable: 'store' }),
      new PublicationReader(relay),
      new EventReader(relay),
      new PublicationReader(api),
      new EventReader(api),
    ];
    for (const reader of readers) {
      await until('the reader reads', () => reader.reading);
      reader.close();
    }
  });
});
