import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Bus, ServiceName, StreamLimits } from '@brine/bus';
import { connectBus, ensureStreams, SERVER_NAME, SERVICE_NAMES } from '@brine/bus';
import { makeConsumers } from '@brine/bus/apart';
import type { NatsServer } from '@brine/nats-server';
import { resolveNatsServer, startNatsServer } from '@brine/nats-server';
import { ServiceCertificates } from '@brine/pki';

/** A NATS server of a test's own; `await using nats = await startNats()`. */
export interface TestNats extends AsyncDisposable {
  readonly server: NatsServer;
  /** With each service's user: `nats.urls['worker-pool']`. */
  readonly urls: NatsServer['urls'];
  readonly dir: string;
  /** The directories with certificates, if requested. */
  readonly certificates: string;
  /** Connects as a service; closed together with the server. */
  readonly connect: (name: ServiceName) => Promise<Bus>;
  /** Closes the connections, stops the server, removes its directory. */
  readonly close: () => Promise<void>;
}

/** How long certificates of tests are valid. */
export const CERTIFICATE_DAYS = 90;

/** Certificates for NATS in a directory, for all services and the server on this host. */
export function natsCertificates(dir: string, now?: () => number): ServiceCertificates {
  return new ServiceCertificates(dir, { clients: SERVICE_NAMES, server: SERVER_NAME }, now);
}

/** Small enough for any disk, large enough for any test. In bytes. */
const STORE_BYTES = 1024 ** 3;

/**
 * Starts a real nats-server in a directory of its own, by default with the streams. `certificates`
 * turns on mutual TLS; making its keys takes some seconds.
 */
export async function startNats(
  options: {
    readonly streams?: boolean;
    readonly limits?: StreamLimits;
    readonly certificates?: boolean;
  } = {},
): Promise<TestNats> {
  const binary = await resolveNatsServer({ env: process.env });
  const dir = await mkdtemp(join(tmpdir(), 'brine-nats-'));
  const certificates = join(dir, 'certificates');
  const secure = options.certificates === true;
  if (secure) await natsCertificates(certificates).init([], CERTIFICATE_DAYS);
  const server = await startNatsServer({
    binary,
    dir,
    maxFileStore: STORE_BYTES,
    ...(secure ? { certificates: join(certificates, SERVER_NAME) } : {}),
  });
  const buses: Bus[] = [];
  const connect = async (name: ServiceName): Promise<Bus> => {
    const url = server.urls[name];
    const bus = await connectBus({ url, name, certificates, connectTimeoutMs: 10_000 });
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
    // As the event-bus does. It ends with the connection.
    makeConsumers(owner);
  }
  return {
    server,
    urls: server.urls,
    dir,
    certificates,
    connect,
    close,
    [Symbol.asyncDispose]: close,
  };
}
