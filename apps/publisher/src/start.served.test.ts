import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PublicationWriter } from '@brine/bus/jobs';
import { loadMasterConfig } from '@brine/config';
import { Crypticle, SecretBox } from '@brine/crypt';
import { AesEpochs } from '@brine/master-state';
import { loadOrCreateMasterKeys } from '@brine/pki';
import { topicOf } from '@brine/publishing';
import { Metrics, type RunningService, type ServiceContext } from '@brine/service';
import { startTelemetry } from '@brine/telemetry';
import { freePorts, startNats, type TestNats, ZmtpPeer } from '@brine/testing';
import { until, workTakes } from '@brine/testing/waits';
import { isMap, mapOf, pack, type SaltValue, unpack } from '@brine/wire';
import { readPublication } from '@brine/wire/frames';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { startPublisher } from './start.ts';

let nats: TestNats;
let dir: string;
let port: number;
const running: RunningService[] = [];

beforeEach(async () => {
  nats = await startNats();
  dir = await mkdtemp(join(tmpdir(), 'brine-publisher-'));
  [port = 0] = await freePorts(1);
});

afterEach(async () => {
  for (const service of running.splice(0)) await service.close();
  await nats.close();
  await rm(dir, { recursive: true, force: true });
});

async function start(more: Readonly<Record<string, unknown>> = {}): Promise<RunningService> {
  const config = { root_dir: dir, interface: '127.0.0.1', publish_port: port, ...more };
  await writeFile(join(dir, 'master'), JSON.stringify(config));
  const env = { NATS_URL: nats.urls.publisher };
  const { options } = loadMasterConfig({ configDir: dir, env });
  const telemetry = await startTelemetry({
    service: 'publisher',
    options: { ...options, logLevel: 'quiet', brine: { ...options.brine } },
    env: {},
  });
  const fail = vi.fn();
  const context: ServiceContext = {
    name: 'publisher',
    options,
    log: telemetry.log,
    telemetry,
    metrics: new Metrics(),
    signal: new AbortController().signal,
    env,
    report: () => ({ status: {} }),
    fail,
  };
  const service = await startPublisher(context);
  running.push(service);
  await until('the publisher is ready', () => expect(service.ready()).toBe(true));
  return service;
}

async function subscriber(...topics: readonly string[]): Promise<ZmtpPeer> {
  const peer = await ZmtpPeer.open({ port, socketType: 'SUB' });
  for (const topic of topics) peer.subscribe(topic);
  running.push({ ready: () => true, status: () => ({}), close: async () => peer.close() });
  // A PUB socket does not say when it has noted a subscription.
  await workTakes(100);
  return peer;
}

async function publish(jid: string, more: Readonly<Record<string, unknown>> = {}): Promise<void> {
  const writer = new PublicationWriter(await nats.connect('worker-pool'));
  const now = Date.now();
  await writer.appendJob({
    jid,
    publication: pack(
      mapOf({ fun: 'test.ping', arg: [], tgt: 'a', tgt_type: 'list', jid, ret: '' }),
    ),
    load: pack(mapOf({ jid })),
    principal: 'root key',
    user: 'root',
    fun: 'test.ping',
    tgt: ['a'],
    tgtType: 'list',
    minions: ['a'],
    missing: [],
    publishedAt: now,
    deadlineAt: now + 60_000,
    notAfter: now + 30_000,
    hidden: false,
    host: 'h',
    requestId: jid,
    ...more,
  });
}

async function opened(frame: Buffer | undefined): Promise<SaltValue> {
  const { options } = loadMasterConfig({ configDir: dir, env: {} });
  const { privateKey } = await loadOrCreateMasterKeys(options.pkiDir, options.keysize);
  const box = SecretBox.fromMasterKey(privateKey, 'aes');
  const epochs = await AesEpochs.connect(await nats.connect('worker-pool'), box);
  const { load } = readPublication(frame ?? Buffer.alloc(0));
  const bytes = new Crypticle(epochs.current().keyString).open(load);
  epochs.close();
  return unpack(bytes ?? Buffer.alloc(0));
}

test('a subscriber receives a job as one frame that opens with the shared key', async () => {
  const service = await start();
  const minion = await subscriber('');
  await publish('20261120171037123456');
  const frames = await minion.receive(3000);
  await until('the peer and the publication are counted', () =>
    expect(service.status()).toMatchObject({ peers: 1, sent: 1 }),
  );
  expect(frames).toHaveLength(1);
  const load = await opened(frames[0]);
  expect(isMap(load) && load.get('jid')).toBe('20261120171037123456');
  expect(isMap(load) && typeof load.get('serial')).toBe('number');
});

test('a minion that missed a job at the start of the publisher gets it again', async () => {
  const service = await start();
  await publish('20261120171037123456');
  await until('it was sent', () => expect(service.status()).toMatchObject({ sent: 1 }));
  const late = await subscriber('');
  const frames = await late.receive(5000);
  const load = await opened(frames[0]);
  expect(isMap(load) && load.get('jid')).toBe('20261120171037123456');
});

test('with zmq_filtering a minion receives its own topic, a syndic everything', async () => {
  await start({ zmq_filtering: true, order_masters: true });
  const mine = await subscriber(topicOf('a').toString());
  const other = await subscriber(topicOf('b').toString(), 'broadcast');
  const syndic = await subscriber('syndic');
  await publish('20261120171037123456');
  expect((await mine.receive(3000)).map((frame) => frame.length)[0]).toBe(40);
  expect((await syndic.receive(3000))[0]?.toString()).toBe('syndic');
  await expect(other.receive(200)).rejects.toThrow('nothing received');
});
