import { createHash, generateKeyPairSync } from 'node:crypto';
import { Bucket, Bus, type BusOptions, ensureStreams, escapeKey } from '@brine/bus';
import { loadMasterConfig, type MasterOptions } from '@brine/config';
import { normalisePem, PrivateKey, SecretBox } from '@brine/crypt';
import type { MasterKeys } from '@brine/pki';
import { Metrics, type RunningService, type ServiceContext } from '@brine/service';
import type { MasterKeyService } from '../../../libs/master-ports/src/keys/master-key.ts';
import { EventSocket, memoryFiles } from './event-host.ts';
import type { SimConnection } from './nats/connection.ts';
import { SimNats } from './nats/server.ts';
import { PublishPort } from './publish-port.ts';
import type { Random } from './random.ts';
import { RequestPort } from './request-port.ts';
import type { StoreConnection } from './store.ts';
import { SimStore } from './store.ts';
import type { Trace } from './trace.ts';
import type { VirtualTime } from './virtual-time.ts';

/** A process of the master while it runs. */
interface Process {
  readonly connections: SimConnection[];
  readonly stores: StoreConnection[];
  readonly abort: AbortController;
  /** Frees the ports that it has bound. */
  readonly release: (() => void)[];
  running: RunningService | undefined;
  isOver: boolean;
}

/** What a service is given in place of sockets, files and databases. */
export interface Surroundings {
  readonly cluster: Cluster;
  readonly context: ServiceContext;
  readonly connectBus: (options: BusOptions) => Promise<Bus>;
  readonly loadKeys: () => Promise<MasterKeys>;
  readonly masterKey: () => MasterKeyService;
  readonly connectStore: () => StoreConnection;
  /** To be done when the process ends, however. */
  readonly onEnd: (release: () => void) => void;
}

/** How a service starts. */
export type Start = (around: Surroundings) => Promise<RunningService>;

// Not meant to be broken: the shortest keys that work, at a tenth of the usual cost.
const KEY_BITS = 1_024;
const keyOf = (): PrivateKey => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: KEY_BITS });
  return PrivateKey.parse(privateKey.export({ type: 'pkcs1', format: 'pem' }).toString());
};
const MASTER_KEY = keyOf();
/** All simulated minions have this one. */
export const MINION_KEY = keyOf();
/** The key of the local user who publishes. */
export const USER_KEY = 'simulated-user-key';

const OPTIONS: MasterOptions = (() => {
  const { options } = loadMasterConfig({ configDir: '/nonexistent', env: {} });
  const nats = { ...options.brine.nats, url: 'nats://sim:4222' };
  return { ...options, autoAccept: true, brine: { ...options.brine, nats, host: 'host1' } };
})();

/** How long the supervisor waits before it starts a service again, ms. */
const RESTART_MS = { least: 250, most: 2_000 };
/** A process that does not stop within this is killed, ms. */
const STOP_MS = 10_000;

/** The machines of one master: NATS, the store, the ports, and the processes between them. */
export class Cluster {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly trace: Trace;
  readonly nats: SimNats;
  readonly store: SimStore;
  readonly publish: PublishPort;
  readonly request: RequestPort;
  /** How long the streams keep what all have read, and how often they are purged, in ms. */
  retention = { keepMs: 15 * 60_000, everyMs: 60_000 };
  readonly events = new EventSocket();
  readonly files = memoryFiles();
  readonly #starts = new Map<string, Start>();
  readonly #processes = new Map<string, Process>();
  #isOver = false;

  constructor(time: VirtualTime, random: Random, trace: Trace) {
    this.time = time;
    this.random = random;
    this.trace = trace;
    this.nats = new SimNats(time, random.fork());
    this.store = new SimStore(time, random.fork());
    this.publish = new PublishPort(time, random.fork());
    this.request = new RequestPort(time, random.fork());
  }

  /** Makes the streams, and what the event-bus and `salt-key` would have put into the buckets. */
  async prepare(minions: readonly string[]): Promise<void> {
    const bus = this.#openBus(this.nats.connect('prepare'), 'event-bus');
    await ensureStreams(bus);
    const secrets = new Bucket(bus, 'brine_secrets');
    const box = SecretBox.fromMasterKey(MASTER_KEY, 'userkeys');
    const keys = box.seal(Buffer.from(JSON.stringify({ root: USER_KEY })));
    await secrets.put(escapeKey('userkeys', 'host1'), keys);
    const pub = normalisePem(MINION_KEY.publicKey.pem);
    for (const id of minions) {
      const record = JSON.stringify({ state: 'accepted', pub, denied: [] });
      await new Bucket(bus, 'brine_keys').put(escapeKey(id), Buffer.from(record));
    }
    await bus.close();
  }

  /** Starts a service and keeps it: whenever it ends it is started again. */
  supervise(name: string, start: Start): void {
    this.#starts.set(name, start);
    this.#begin(name);
  }

  /** As `kill -9`: nothing that it does from now on has any effect. It is down for so long. */
  kill(name: string, downMs = 0): void {
    const running = this.#processes.get(name);
    if (running === undefined) return;
    this.trace.note(name, 'killed');
    this.#end(name, running);
    this.#beginLater(name, downMs);
  }

  /** As SIGTERM: it finishes what it has in hand, and is killed when that takes too long. */
  stop(name: string): void {
    const running = this.#processes.get(name);
    const service = running?.running;
    if (running === undefined || service === undefined) return;
    this.trace.note(name, 'stopping');
    const over = (): void => {
      if (running.isOver) return;
      this.trace.note(name, 'stopped');
      this.#end(name, running);
      this.#beginLater(name);
    };
    this.time.after(STOP_MS, over);
    running.abort.abort();
    service.close().then(over, (error: unknown) => this.#failed(name, running, error));
  }

  /** Breaks its connections to NATS. */
  cut(name: string, downMs: number): void {
    for (const connection of this.#processes.get(name)?.connections ?? []) connection.cut(downMs);
  }

  /** Nothing passes between it and NATS for so long. */
  stall(name: string, ms: number): void {
    for (const connection of this.#processes.get(name)?.connections ?? []) connection.stall(ms);
  }

  /** A running service; undefined while it is down. */
  running(name: string): RunningService | undefined {
    return this.#processes.get(name)?.running;
  }

  /** Ends everything. */
  close(): void {
    this.#isOver = true;
    for (const [name, running] of this.#processes) this.#end(name, running);
  }

  #begin(name: string): void {
    const start = this.#starts.get(name);
    if (start === undefined || this.#isOver) return;
    const abort = new AbortController();
    const running: Process = {
      connections: [],
      stores: [],
      abort,
      release: [],
      running: undefined,
      isOver: false,
    };
    this.#processes.set(name, running);
    start(this.#surroundings(name, running)).then(
      (service) => {
        if (running.isOver) return void service.close().catch(() => undefined);
        running.running = service;
        this.trace.note(name, 'runs');
      },
      (error: unknown) => this.#failed(name, running, error),
    );
  }

  #failed(name: string, running: Process, error: unknown): void {
    if (running.isOver) return;
    this.trace.note(name, 'failed');
    this.trace.aside(name, error instanceof Error ? error.message : String(error));
    this.#end(name, running);
    this.#beginLater(name);
  }

  #beginLater(name: string, downMs = 0): void {
    const waitMs = downMs + this.random.between(RESTART_MS.least, RESTART_MS.most);
    this.time.after(waitMs, () => this.#begin(name));
  }

  #end(name: string, running: Process): void {
    running.isOver = true;
    this.#processes.delete(name);
    for (const connection of running.connections) connection.end(new Error('killed'));
    for (const store of running.stores) store.end();
    for (const release of running.release) release();
    running.abort.abort();
    // Its timers go with it; what it still tries has no connection.
    void running.running?.close().catch(() => undefined);
  }

  #surroundings(name: string, running: Process): Surroundings {
    return {
      cluster: this,
      context: this.#context(name, running),
      connectBus: async ({ name: service }) => {
        while (!this.nats.isUp) await this.time.sleep(250);
        await this.time.sleep(this.random.between(1, 30));
        const connection = this.nats.connect(name);
        if (running.isOver) connection.end(new Error('killed'));
        running.connections.push(connection);
        return this.#openBus(connection, service);
      },
      loadKeys: () => Promise.resolve(MASTER_KEYS),
      masterKey: () => masterKeyService(),
      connectStore: () => {
        const store = this.store.connect();
        if (running.isOver) store.end();
        running.stores.push(store);
        return store;
      },
      onEnd: (release) => {
        if (running.isOver) release();
        else running.release.push(release);
      },
    };
  }

  #openBus(connection: SimConnection, name: BusOptions['name']): Bus {
    return new Bus(connection.asClient, { url: '', name }, {});
  }

  #context(name: string, running: Process): ServiceContext {
    const say = (fields: unknown, text?: string): void => {
      const error = (fields as { err?: unknown }).err;
      const told = error instanceof Error ? `: ${error.message}` : '';
      this.trace.aside(name, `${text ?? ''}${told}`);
    };
    const log = { info: say, warn: say, error: say, debug: () => undefined };
    const telemetry = { log, traces: () => false, recordSpan: () => undefined };
    return {
      name,
      options: OPTIONS,
      log,
      telemetry,
      metrics: new Metrics(),
      signal: running.abort.signal,
      env: {},
      told: () => ({ status: {} }),
      fail: (error: unknown) => this.#failed(name, running, error),
    } as unknown as ServiceContext;
  }
}

const MASTER_KEYS: MasterKeys = {
  privateKey: MASTER_KEY,
  privatePem: MASTER_KEY.pem,
  publicPem: MASTER_KEY.publicKey.pem.trim(),
};

/** Without threads: what they do is done at once. */
function masterKeyService(): MasterKeyService {
  return {
    publicPem: MASTER_KEYS.publicPem,
    queued: 0,
    sign: (data, algo) => Promise.resolve(MASTER_KEY.sign(data, algo)),
    decrypt: (data, algo) =>
      new Promise((resolve) => {
        resolve(MASTER_KEY.oaepDecrypt(data, algo));
      }),
    aesKeySignature: (keyString) => {
      const digest = createHash('sha256').update(keyString, 'ascii').digest('hex');
      return Promise.resolve(MASTER_KEY.x931Encrypt(Buffer.from(digest, 'ascii')));
    },
    close: () => Promise.resolve(),
  };
}
