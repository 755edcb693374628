import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectBus, ensureStreams, resolveNatsServer, startNatsServer } from '@brine/bus';
import type { Bus, NatsServer, ServiceName, StreamLimits } from '@brine/bus';

/** A NATS server of a test's own; `await using nats = await startNats()`. */
export interface TestNats extends AsyncDisposable {
  readonly server: NatsServer;
  /** With each service's user: `nats.urls['worker-pool']`. */
  readonly urls: NatsServer['urls'];
  readonly dir: string;
  /** Connects as a service; closed together with the server. */
  readonly connect: (name: ServiceName) => Promise<Bus>;
  /** Closes the connections, stops the server, removes its directory. */
  readonly close: () => Promise<void>;
}

/** Small enough for any disk, large enough for any test. In bytes. */
const STORE_BYTES = 1024 ** 3;

/**
 * Starts a real nats-server in a directory of its own, with the streams made unless told not to.
 */
export async function startNats(
  options: { readonly streams?: boolean; readonly limits?: StreamLimits } = {},
): Promise<TestNats> {
  const binary = await resolveNatsServer({ env: process.env });
  const dir = await mkdtemp(join(tmpdir(), 'brine-nats-'));
  const server = await startNatsServer({ binary, dir, maxFileStore: STORE_BYTES });
  const buses: Bus[] = [];
  const connect = async (name: ServiceName): Promise<Bus> => {
    const bus = await connectBus({ url: server.urls[name], name, connectTimeoutMs: 10_000 });
    buses.push(bus);
    return bus;
  };
  let closing: Promise<void> | undefined;
  const closeOnce = async (): Promise<void> => {
    await Promise.all(buses.map((bus) => bus.close()));
    await server.stop();
    await rm(dir, { recursive: true, force: true });
  };
  const close = (): Promise<void> => (closing ??= closeOnce());
  if (options.streams !== false) {
    const owner = await connect('event-bus');
    await ensureStreams(owner, options.limits ?? { totalBytes: STORE_BYTES / 2 });
  }
  return { server, urls: server.urls, dir, connect, close, [Symbol.asyncDispose]: close };
}
