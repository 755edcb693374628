import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SERVER_NAME } from '@brine/bus';
import type { NatsServer } from '@brine/nats-server';
import { resolveNatsServer, startNatsServer } from '@brine/nats-server';
import { CERTIFICATE_DAYS, natsCertificates } from '../nats.ts';
import { freePorts } from '../salt/index.ts';

/** Small enough for any disk, large enough for any test. In bytes. */
const STORE_BYTES = 2 * 1024 ** 3;
const LEADER_MS = 60_000;
const CURRENT_MS = 120_000;
const POLL_MS = 50;
/** The server's text (server/jetstream_cluster.go). */
const LEADER =
  /JetStream cluster new metadata leader|Self is new JetStream cluster metadata leader/;

/** A server of a {@link NatsCluster}. */
export interface NatsNode {
  readonly name: string;
  /** Ends it at once, as a power cut of its host would except for the disk. */
  kill(): Promise<void>;
  /** Starts it again, on its disk; waits until it has caught up. */
  start(): Promise<void>;
}

/** Three servers that share streams, on loopback, with mutual TLS. */
export interface NatsCluster extends AsyncDisposable {
  readonly nodes: readonly NatsNode[];
  /** All servers, for NATS_URL. */
  readonly url: string;
  /** The directory for BRINE_NATS_CERTIFICATES. */
  readonly certificates: string;
  close(): Promise<void>;
}

/** Starts them and waits until they have a leader. */
export async function startNatsCluster(count = 3): Promise<NatsCluster> {
  const binary = await resolveNatsServer({ env: process.env });
  const dir = await mkdtemp(join(tmpdir(), 'brine-cluster-'));
  const certificates = join(dir, 'certificates');
  await natsCertificates(certificates).init([], CERTIFICATE_DAYS);
  const ports = await freePorts(3 * count);
  const [clients, peers] = [ports.slice(0, count), ports.slice(count, 2 * count)];
  const monitors = ports.slice(2 * count);
  const routes = peers.map((port) => `nats-route://127.0.0.1:${port}`);
  const servers: NatsServer[] = [];
  const start = async (index: number): Promise<void> => {
    const cluster = { name: 'brine', port: peers[index] ?? 0, routes };
    const named = { serverName: `nats-${index}`, cluster, monitorPort: monitors[index] ?? 0 };
    const own = { dir: join(dir, `nats-${index}`), certificates: join(certificates, SERVER_NAME) };
    const port = clients[index] ?? 0;
    const limits = { maxFileStore: STORE_BYTES, readyTimeoutMs: 60_000 };
    servers[index] = await startNatsServer({ binary, port, ...own, ...named, ...limits });
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
  const nodes = clients.map((_, index) => ({
    name: `nats-${index}`,
    kill: async () => {
      const server = servers[index];
      if (server === undefined) return;
      process.kill(server.pid, 'SIGKILL');
      await server.exited;
    },
    start: async () => {
      await start(index);
      await untilCurrent(monitors[index] ?? 0);
    },
  }));
  return {
    nodes,
    url: clients.map((port) => `tls://127.0.0.1:${port}`).join(','),
    certificates,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Waits until its health reports each stream and reader as far as its leader. */
async function untilCurrent(port: number): Promise<void> {
  const until = Date.now() + CURRENT_MS;
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined);
    if (answer?.ok === true) return;
    if (Date.now() > until) throw new Error(`not current: ${await answer?.text()}`);
    await sleep(POLL_MS);
  }
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
