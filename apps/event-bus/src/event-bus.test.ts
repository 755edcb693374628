import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';

import {
  Bucket,
  connectBus,
  escapeKey,
  EventWriter,
  PublicationWriter,
  resolveNatsServer,
  startNatsServer,
  waitWritten,
} from '@brine/bus';
import type { Bus, JobRecord, NatsServer } from '@brine/bus';
import { JobFiles, readUserKey, writeDropFile } from '@brine/cachedir';
import { loadMasterConfig } from '@brine/config';
import { SecretBox } from '@brine/crypt';
import { EventClient, fireEvent } from '@brine/ipc';
import type { LocalEvent } from '@brine/ipc';
import { loadOrCreateMasterKeys } from '@brine/pki';
import { Metrics } from '@brine/service';
import type { RunningService, ServiceContext } from '@brine/service';
import { startTelemetry } from '@brine/telemetry';
import { mapOf, pack, textOf } from '@brine/wire';

import { startEventBus } from './event-bus.ts';

let natsDir = '';
let nats: NatsServer;
let worker: Bus;
let root = '';
let service: RunningService;

beforeAll(async () => {
  const binary = await resolveNatsServer({ env: process.env, onProgress: () => {} });
  natsDir = mkdtempSync(join(tmpdir(), 'evb-nats-'));
  nats = await startNatsServer({ binary, dir: natsDir });
  worker = await connectBus({ url: nats.urls['worker-pool'], name: 'worker-pool' });
  // All hosts of one master have the same key: what is sealed for one opens for the others.
  await loadOrCreateMasterKeys(join(natsDir, 'keys'));
});
afterAll(async () => {
  await worker.close();
  await nats.stop();
  rmSync(natsDir, { recursive: true, force: true });
});

let host = 'h0';
let hosts = 0;
const paths = {
  pki: () => join(root, 'pki', 'master'),
  cache: () => join(root, 'cache'),
  sock: (...more: string[]) => join(root, 's', ...more),
};

async function start(extra: Readonly<Record<string, unknown>> = {}): Promise<RunningService> {
  const conf = {
    pki_dir: paths.pki(),
    cachedir: paths.cache(),
    sock_dir: paths.sock(),
    root_dir: '/',
    brine: { nats: { url: nats.urls['event-bus'] }, host, event_framing: 'bare' },
    ...extra,
  };
  mkdirSync(join(root, 'etc'), { recursive: true });
  writeFileSync(join(root, 'etc', 'master'), JSON.stringify(conf));
  const { options } = loadMasterConfig({ configDir: join(root, 'etc'), env: {} });
  const telemetry = await startTelemetry({ service: 'event-bus', options, env: {} });
  const context: ServiceContext = {
    name: 'event-bus',
    options: { ...options, logLevel: 'quiet' },
    log: telemetry.log,
    telemetry,
    metrics: new Metrics(),
    signal: new AbortController().signal,
    env: { PATH: '' },
    fail: (error) => {
      throw error;
    },
  };
  const running = await startEventBus(context);
  await vi.waitFor(() => expect(running.ready()).toBe(true), { timeout: 5_000, interval: 5 });
  return running;
}

beforeEach(async () => {
  hosts += 1;
  host = `h${hosts}.example.com`;
  root = mkdtempSync(join(tmpdir(), 'evb-'));
  mkdirSync(paths.pki(), { recursive: true });
  copyFileSync(join(natsDir, 'keys', 'master.pem'), join(paths.pki(), 'master.pem'));
  service = await start();
});
afterEach(async () => {
  await service.close();
  rmSync(root, { recursive: true, force: true });
});

/** Reads events until closed; what came is in `seen`. */
async function reader(...dirs: string[]): Promise<{ seen: LocalEvent[]; client: EventClient }> {
  const client = await EventClient.connect({ path: paths.sock(...dirs, 'master_event_pub.ipc') });
  const seen: LocalEvent[] = [];
  void (async () => {
    for await (const event of client) seen.push(event);
  })().catch(() => undefined);
  await vi.waitFor(() => expect(service.status()).toMatchObject({ readers: expect.anything() }));
  return { seen, client };
}

const tags = (seen: readonly LocalEvent[]): string[] => seen.map((event) => event.tag);

let jids = 0;
const newJid = (): string => {
  jids += 1;
  const time = new Date().toISOString().replace(/\D/g, '').slice(0, 14);
  return `${time}${String(jids).padStart(6, '0')}`;
};

function job(jid: string): JobRecord {
  const load = {
    cmd: 'publish',
    tgt: '*',
    fun: 'test.ping',
    arg: ['a'],
    tgt_type: 'glob',
    ret: '',
    jid,
    user: 'root',
  };
  return {
    jid,
    publication: pack(mapOf({ fun: 'test.ping', arg: ['a'], tgt: '*', jid, ret: '' })),
    load: pack(mapOf(load)),
    principal: 'root key',
    user: 'root',
    fun: 'test.ping',
    tgt: '*',
    tgtType: 'glob',
    minions: ['m1', 'm2'],
    missing: [],
    publishedAt: Date.now(),
    deadlineAt: Date.now() + 60_000,
    notAfter: Date.now() + 30_000,
    hidden: false,
    host,
    requestId: `req-${jid}`,
  };
}

const returned = (jid: string, id: string) => ({
  kind: 'ret' as const,
  tag: `salt/job/${jid}/ret/${id}`,
  body: pack(mapOf({ id, jid, return: Buffer.from([0xff, 0]), retcode: 0, success: true })),
  msgId: `ret:${jid}:${id}`,
  jid,
  minion: id,
});

describe('a job', () => {
  it('is on disk before it is announced, and announced before anybody is told', async () => {
    const { seen, client } = await reader();
    const jid = newJid();
    const wait = waitWritten(worker, [`host:${host}`], 2_000);
    await new PublicationWriter(worker).appendJob(job(jid), { written: wait.subject });
    expect(await wait.done).toEqual({ missing: [] });
    const files = new JobFiles({ cachedir: paths.cache() });
    expect(textOf((await files.readLoad(jid)) ?? new Map(), 'fun')).toBe('test.ping');
    expect(await files.readMinions(jid)).toEqual(['m1', 'm2']);
    await vi.waitFor(() =>
      expect(tags(seen)).toEqual([`salt/job/${jid}/new`, `salt/job/${jid}/publish`]),
    );
    const data = seen[0]?.data;
    expect([...(data?.keys() ?? [])]).toEqual([
      'jid',
      'tgt_type',
      'tgt',
      'user',
      'fun',
      'arg',
      'minions',
      'missing',
      '_stamp',
    ]);
    expect(data?.get('_stamp')).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/);
    client.close();
  });

  it('is announced before a return that came first', async () => {
    const { seen, client } = await reader();
    const jid = newJid();
    await new EventWriter(worker).append(returned(jid, 'm1'));
    await new EventWriter(worker).append({ kind: 'minion', tag: 'other', body: pack(mapOf({})) });
    await vi.waitFor(() => expect(tags(seen)).toEqual(['other']));
    await new PublicationWriter(worker).appendJob(job(jid));
    await vi.waitFor(() => expect(seen).toHaveLength(4));
    expect(tags(seen).slice(1)).toEqual([
      `salt/job/${jid}/new`,
      `salt/job/${jid}/publish`,
      `salt/job/${jid}/ret/m1`,
    ]);
    expect(seen[3]?.data.get('return')).toEqual(Buffer.from([0xff, 0]));
    client.close();
  });

  it('that a minion started itself shows its return after a second', async () => {
    const { seen, client } = await reader();
    const begin = performance.now();
    await new EventWriter(worker).append(returned(newJid(), 'm1'));
    await vi.waitFor(() => expect(seen).toHaveLength(1), { timeout: 3_000 });
    expect(performance.now() - begin).toBeGreaterThan(900);
    client.close();
  });

  it('that was published while the event bus was away gets its files', async () => {
    await service.close();
    const jid = newJid();
    await new PublicationWriter(worker).appendJob(job(jid));
    const begin = performance.now();
    service = await start();
    expect(performance.now() - begin).toBeLessThan(1_000);
    const files = new JobFiles({ cachedir: paths.cache() });
    await vi.waitFor(async () => expect(await files.has(jid)).toBe(true));
  });

  it("gets its returns into files in the background, for the host's stock tools", async () => {
    const jid = newJid();
    await new PublicationWriter(worker).appendJob(job(jid));
    await new EventWriter(worker).append(returned(jid, 'm1'));
    const files = new JobFiles({ cachedir: paths.cache() });
    await vi.waitFor(async () => expect(await files.readReturns(jid)).toHaveLength(1));
    const [one] = await files.readReturns(jid);
    expect(one?.value).toEqual(
      mapOf({ return: Buffer.from([0xff, 0]), retcode: 0, success: true }),
    );
  });
});

describe('event sockets', () => {
  it('give one event once to readers of each framing, wherever it was fired', async () => {
    const readers = [await reader(), await reader('bare'), await reader('prefixed')];
    const data = pack(mapOf({ a: 1, b: Buffer.from([0xff]), _stamp: 'mine' }), 'bin');
    await fireEvent('my/tag', data, { path: paths.sock('master_event_pull.ipc') });
    const prefixed = paths.sock('prefixed', 'master_event_pull.ipc');
    await fireEvent('my/other', data, { path: prefixed, framing: 'prefixed' });
    for (const { seen, client } of readers) {
      await vi.waitFor(() => expect(tags(seen)).toEqual(['my/tag', 'my/other']));
      expect(seen[0]?.data).toEqual(mapOf({ a: 1, b: Buffer.from([0xff]), _stamp: 'mine' }));
      client.close();
    }
  });

  it('give nothing old to who connects later', async () => {
    await new EventWriter(worker).append({ kind: 'minion', tag: 'old', body: pack(mapOf({})) });
    await new Promise((resolve) => setTimeout(resolve, 100));
    const { seen, client } = await reader();
    await new EventWriter(worker).append({ kind: 'minion', tag: 'new', body: pack(mapOf({})) });
    await vi.waitFor(() => expect(tags(seen)).toEqual(['new']));
    client.close();
  });

  it('trim what is above max_event_size', async () => {
    const { seen, client } = await reader();
    const jid = newJid();
    await new PublicationWriter(worker).appendJob(job(jid));
    const body = pack(mapOf({ id: 'm1', jid, return: 'x'.repeat(2_000_000) }));
    await new EventWriter(worker).append({ ...returned(jid, 'm1'), body });
    await vi.waitFor(() => expect(seen).toHaveLength(3), { timeout: 5_000 });
    expect(seen[2]?.data.get('return')).toBe('VALUE_TRIMMED');
    expect(seen[2]?.data.get('id')).toBe('m1');
    client.close();
  });

  it('stand beside the files that stock tools look for', () => {
    for (const name of ['publish_pull.ipc', 'workers.ipc']) {
      expect(statSync(paths.sock(name)).isFile()).toBe(true);
    }
    for (const name of ['master_event_pub.ipc', 'master_event_pull.ipc']) {
      expect(statSync(paths.sock(name)).mode & 0o777).toBe(0o600);
    }
  });

  it('may be read by all users with publisher_acl, and written by none', async () => {
    await service.close();
    service = await start({ publisher_acl: { nobody: ['test.*'] } });
    expect(statSync(paths.sock('master_event_pub.ipc')).mode & 0o777).toBe(0o666);
    expect(statSync(paths.sock('master_event_pull.ipc')).mode & 0o777).toBe(0o600);
    expect(await readUserKey(paths.cache(), 'nobody')).toHaveLength(76);
  });
});

describe('user keys', () => {
  it('are in files and, sealed, in the bucket of secrets; and stay over a restart', async () => {
    const key = await readUserKey(paths.cache(), 'root');
    const { privatePem } = await loadOrCreateMasterKeys(paths.pki());
    const entry = await new Bucket(worker, 'brine_secrets').get(escapeKey('userkeys', host));
    const sealed = SecretBox.fromMasterKey(privatePem, 'userkeys');
    const opened = JSON.parse(sealed.open(entry?.value ?? Buffer.alloc(0)).toString('utf8'));
    expect(opened).toMatchObject({ root: key });
    await service.close();
    service = await start();
    expect(await readUserKey(paths.cache(), 'root')).toBe(key);
  });

  it('that somebody else has written are not believed', async () => {
    const key = await readUserKey(paths.cache(), 'root');
    await service.close();
    writeFileSync(join(paths.cache(), '.root_key'), `${'A'.repeat(75)}=`);
    service = await start();
    expect(await readUserKey(paths.cache(), 'root')).toBe(key);
  });
});

describe('minion keys', () => {
  const bucket = (): Bucket => new Bucket(worker, 'brine_keys');
  const put = (id: string, state: string, pub = 'PEM') =>
    bucket().put(escapeKey(id), Buffer.from(JSON.stringify({ state, pub, at: Date.now() })));
  const state = async (id: string): Promise<unknown> => {
    const entry = await bucket().get(escapeKey(id));
    return entry && JSON.parse(Buffer.from(entry.value).toString('utf8')).state;
  };

  it('that workers write appear as files, and moved files reach the workers', async () => {
    const id = `${host}.minion`;
    const pending = join(paths.pki(), 'minions_pre', id);
    let begin = performance.now();
    await put(id, 'pending');
    await vi.waitFor(() => expect(existsSync(pending)).toBe(true), { interval: 5 });
    expect(performance.now() - begin).toBeLessThan(200);
    begin = performance.now();
    renameSync(pending, join(paths.pki(), 'minions', id));
    await vi.waitFor(async () => expect(await state(id)).toBe('accepted'), { interval: 10 });
    expect(performance.now() - begin).toBeLessThan(1_000);
    unlinkSync(join(paths.pki(), 'minions', id));
    await vi.waitFor(async () => expect(await state(id)).toBe('deleted'), { timeout: 3_000 });
  });

  it('deleted by a stock tool rotate the AES key', async () => {
    const { seen, client } = await reader();
    await writeDropFile(paths.cache(), loadedId());
    await vi.waitFor(() => expect(tags(seen)).toContain('key'), { timeout: 8_000 });
    expect(seen.find(({ tag }) => tag === 'key')?.data.get('rotate_aes_key')).toBe(true);
    expect(existsSync(join(paths.cache(), '.dfn'))).toBe(false);
    client.close();
  });

  const loadedId = (): string =>
    loadMasterConfig({ configDir: join(root, 'etc'), env: {} }).options.masterId;
});

it('status tells of readers and counts', () => {
  expect(service.status()).toMatchObject({ bus: 'connected', keys: { inStep: true } });
  expect(readFileSync(join(paths.pki(), 'master.pub'), 'utf8')).toContain('PUBLIC KEY');
});
