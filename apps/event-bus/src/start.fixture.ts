import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Bus } from '@brine/bus';
import { connectBus } from '@brine/bus';
import { EventWriter } from '@brine/bus/events';
import type { MasterOptions } from '@brine/config';
import { loadMasterConfig } from '@brine/config';
import type { LocalEvent } from '@brine/ipc';
import { EventClient } from '@brine/ipc';
import type { Job } from '@brine/job';
import type { NatsServer } from '@brine/nats-server';
import { resolveNatsServer, startNatsServer } from '@brine/nats-server';
import { loadOrCreateMasterKeys } from '@brine/pki';
import type { RunningService, ServiceContext } from '@brine/service';
import { Metrics } from '@brine/service';
import { startTelemetry } from '@brine/telemetry';
import { until } from '@brine/testing/waits';
import { mapOf, pack } from '@brine/wire';
import { expect } from 'vitest';
import { type EventBusSettings, startEventBus } from './start.ts';

/** A NATS server and one worker's connection to it, for all tests of a file. */
export class TestMaster {
  readonly dir: string;
  readonly nats: NatsServer;
  readonly worker: Bus;

  private constructor(dir: string, nats: NatsServer, worker: Bus) {
    this.dir = dir;
    this.nats = nats;
    this.worker = worker;
  }

  static async start(): Promise<TestMaster> {
    const binary = await resolveNatsServer({ env: process.env, onProgress: () => {} });
    const dir = mkdtempSync(join(tmpdir(), 'evb-nats-'));
    const nats = await startNatsServer({ binary, dir });
    // All hosts of one master have the same key: what is sealed for one opens for the others.
    await loadOrCreateMasterKeys(join(dir, 'keys'));
    const worker = await connectBus({ url: nats.urls['worker-pool'], name: 'worker-pool' });
    return new TestMaster(dir, nats, worker);
  }

  async close(): Promise<void> {
    await this.worker.close();
    await this.nats.stop();
    rmSync(this.dir, { recursive: true, force: true });
  }
}

let hosts = 0;

/** Options below `brine`, beside those of a {@link TestHost}. */
interface BrineExtra {
  readonly brine?: Readonly<Record<string, unknown>>;
}

/** A host with directories of its own, on which an event bus runs. */
export class TestHost {
  readonly name: string;
  /** Errors that would have ended the process. */
  readonly failures: unknown[] = [];
  readonly root = mkdtempSync(join(tmpdir(), 'evb-'));
  readonly #master: TestMaster;
  #service: RunningService | undefined;
  #metrics = new Metrics();

  constructor(master: TestMaster) {
    hosts += 1;
    this.name = `h${hosts}-${process.pid}.example.com`;
    this.#master = master;
    mkdirSync(this.pki(), { recursive: true });
    copyFileSync(join(master.dir, 'keys', 'master.pem'), this.pki('master.pem'));
    mkdirSync(this.configDir);
    this.configure();
  }

  get configDir(): string {
    return join(this.root, 'etc');
  }

  get service(): RunningService {
    if (this.#service === undefined) throw new Error('the event bus does not run');
    return this.#service;
  }

  /** How many returns wait for their job, and how those went out that did. */
  held(): unknown {
    const { feeds } = this.service.status() as { readonly feeds: { readonly events: object } };
    return (feeds.events as { readonly hold: unknown }).hold;
  }

  /** The metrics for Prometheus. */
  exposition(): Promise<string> {
    return Promise.resolve(this.#metrics.text());
  }

  get options(): MasterOptions {
    return loadMasterConfig({ configDir: this.configDir, env: {} }).options;
  }

  pki(...more: readonly string[]): string {
    return join(this.root, 'pki', 'master', ...more);
  }

  cache(...more: readonly string[]): string {
    return join(this.root, 'cache', ...more);
  }

  sock(...more: readonly string[]): string {
    return join(this.root, 's', ...more);
  }

  configure({ brine, ...extra }: Readonly<Record<string, unknown>> & BrineExtra = {}): void {
    const conf = {
      pki_dir: this.pki(),
      cachedir: this.cache(),
      sock_dir: this.sock(),
      log_level: 'quiet',
      brine: {
        nats: { url: this.#master.nats.urls['event-bus'] },
        host: this.name,
        event_framing: 'bare',
        ...brine,
      },
      ...extra,
    };
    writeFileSync(join(this.configDir, 'master'), JSON.stringify(conf));
  }

  /** Starts the event bus in this process and waits until it is ready. */
  async start(settings: EventBusSettings = {}): Promise<void> {
    const { options } = this;
    const telemetry = await startTelemetry({ service: 'event-bus', options, env: {} });
    this.#metrics = new Metrics();
    const context: ServiceContext = {
      name: 'event-bus',
      options,
      log: telemetry.log,
      telemetry,
      metrics: this.#metrics,
      signal: new AbortController().signal,
      env: { PATH: '' },
      report: () => ({ status: {} }),
      fail: (error) => {
        this.failures.push(error);
        throw error;
      },
    };
    const running = await startEventBus(context, settings);
    this.#service = running;
    await until('the event bus is ready', () => expect(running.ready()).toBe(true));
  }

  async restart(extra: Readonly<Record<string, unknown>> & BrineExtra = {}): Promise<void> {
    await this.service.close();
    this.configure(extra);
    await this.start();
  }

  async close(): Promise<void> {
    await this.#service?.close();
    rmSync(this.root, { recursive: true, force: true });
  }

  /**
   * Reads events until closed, into `seen`. Events left over from an earlier test are gone when
   * this resolves.
   */
  async reader(...dirs: string[]): Promise<{ seen: LocalEvent[]; client: EventClient }> {
    const client = await EventClient.connect({ path: this.sock(...dirs, 'master_event_pub.ipc') });
    const seen: LocalEvent[] = [];
    fences += 1;
    const fence = `fence/${fences}`;
    let passed = false;
    void (async () => {
      for await (const event of client) {
        if (event.tag === fence) passed = true;
        else if (passed && !event.tag.startsWith('fence/')) seen.push(event);
      }
    })().catch(() => undefined);
    const body = pack(mapOf({}));
    await new EventWriter(this.#master.worker).append({ kind: 'minion', tag: fence, body });
    await until('the fence has passed', () => expect(passed).toBe(true));
    return { seen, client };
  }
}

let fences = 0;

/** The tags of events, in order. */
export const tagsOf = (seen: readonly LocalEvent[]): string[] => seen.map((event) => event.tag);

let jids = 0;

/** A job id of now that no other test has. */
export function newJid(): string {
  jids += 1;
  const time = new Date().toISOString().replace(/\D/g, '').slice(0, 14);
  return `${time}${String((process.pid * 100 + jids) % 1_000_000).padStart(6, '0')}`;
}

/** A job as a worker stores it. */
export function jobOf(jid: string, host: string): Job {
  const load = { cmd: 'publish', tgt: '*', fun: 'test.ping', arg: ['a'], tgt_type: 'glob', jid };
  return {
    jid,
    publication: pack(mapOf({ fun: 'test.ping', arg: ['a'], tgt: '*', jid, ret: '' })),
    load: pack(mapOf({ ...load, ret: '', user: 'root' })),
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

/** A return as a worker stores it; its value is not UTF-8. */
export const returnOf = (jid: string, id: string) => ({
  kind: 'ret' as const,
  tag: `salt/job/${jid}/ret/${id}`,
  body: pack(mapOf({ id, jid, return: Buffer.from([0xff, 0]), retcode: 0, success: true })),
  msgId: `ret:${jid}:${id}`,
  jid,
  minion: id,
});
