import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { resolveNatsServer, SERVICE_NAMES, startNatsServer } from '@brine/bus';
import type { NatsServer, ServiceName } from '@brine/bus';
import { freePorts } from '../salt/index.ts';

/** Small enough for any disk, large enough for any test. In bytes. */
const STORE_BYTES = 2 * 1024 ** 3;
const LEADER_MS = 60_000;
const POLL_MS = 50;
/** As the server words it (server/jetstream_cluster.go). */
const LEADER =
  /JetStream cluster new metadata leader|Self is new JetStream cluster metadata leader/;

/** One server of a {@link NatsCluster}. */
export interface NatsNode {
  readonly name: string;
  /** Ends it at once, as a power cut of its host would but for the disk. */
  kill(): Promise<void>;
  /** Starts it again, on what its disk has. */
  start(): Promise<void>;
}

/** Three servers that share streams, on loopback. */
export interface NatsCluster extends AsyncDisposable {
  readonly nodes: readonly NatsNode[];
  /** All servers, with a service's user: what goes into its NATS_URL. */
  readonly urls: Readonly<Record<ServiceName, string>>;
  close(): Promise<void>;
}

/** Starts them and waits until they have a leader. */
export async function startNatsCluster(count = 3): Promise<NatsCluster> {
  const binary = await resolveNatsServer({ env: process.env });
  const dir = await mkdtemp(join(tmpdir(), 'brine-cluster-'));
  const passwords = Object.fromEntries(
    SERVICE_NAMES.map((service) => [service, randomBytes(12).toString('hex')]),
  ) as Record<ServiceName, string>;
  const password = randomBytes(12).toString('hex');
  const ports = await freePorts(2 * count);
  const [clients, peers] = [ports.slice(0, count), ports.slice(count)];
  const routes = peers.map((port) => `nats-route://routes:${password}@127.0.0.1:${port}`);
  const servers: NatsServer[] = [];
  const start = async (index: number): Promise<void> => {
    const own = join(dir, `nats-${index}`);
    await mkdir(own, { recursive: true, mode: 0o700 });
    // The same users everywhere.
    await writeFile(join(own, 'credentials.json'), JSON.stringify(passwords), { mode: 0o600 });
    const cluster = { name: 'brine', port: peers[index] ?? 0, routes, password };
    const port = clients[index] ?? 0;
    const named = { serverName: `nats-${index}`, cluster };
    const limits = { maxFileStore: STORE_BYTES, readyTimeoutMs: 60_000 };
    servers[index] = await startNatsServer({ binary, dir: own, port, ...named, ...limits });
  };
  const close = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop(2_000)));
    await rm(dir, { recursive: true, force: true });
  };
  try {
    await Promise.all(clients.map((_, index) => start(index)));
    await untilLed(servers);
  } catch (error) {
    await close();
    throw error;
  }
  const urlOf = (service: ServiceName): string =>
    clients.map((port) => `nats://${service}:${passwords[service]}@127.0.0.1:${port}`).join(',');
  const nodes = clients.map((_, index) => ({
    name: `nats-${index}`,
    kill: async () => {
      const server = servers[index];
      if (server === undefined) return;
      process.kill(server.pid, 'SIGKILL');
      await server.exited;
    },
    start: () => start(index),
  }));
  const urls = Object.fromEntries(SERVICE_NAMES.map((name) => [name, urlOf(name)]));
  return {
    nodes,
    urls: urls as Record<ServiceName, string>,
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function untilLed(servers: readonly NatsServer[]): Promise<void> {
  const until = Date.now() + LEADER_MS;
  for (;;) {
    const logs = await Promise.all(servers.map(({ logFile }) => readFile(logFile, 'utf8')));
    if (logs.every((log) => LEADER.test(log))) return;
    if (Date.now() > until) throw new Error(`no leader:\n${logs.join('\n').slice(-3_000)}`);
    await sleep(POLL_MS);
  }
}
