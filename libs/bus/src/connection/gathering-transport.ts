import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import type { ConnectionOptions, NatsConnection } from '@nats-io/nats-core';
import { NatsConnectionImpl, setTransportFactory } from '@nats-io/nats-core/internal';

/** What is used here of the client's own transport, which its package does not export by name. */
interface NodeTransportClass {
  new (): {
    readonly isClosed: boolean;
    socket: Socket | undefined;
    connect(server: { readonly hostname: string }, options: ConnectionOptions): Promise<void>;
    _send(frame: Uint8Array): Promise<void>;
    send(frame: Uint8Array): void;
  };
}

const require = createRequire(import.meta.url);
const { NodeTransport, nodeResolveHost } =
  require('@nats-io/transport-node/lib/node_transport.js') as {
    readonly NodeTransport: NodeTransportClass;
    readonly nodeResolveHost: (host: string) => Promise<string[]>;
  };

/** As much is written without waiting for the end of the turn, in bytes. */
const WRITE_AT_BYTES = 256 * 1024;

/**
 * Writes what was sent within one turn of the event loop at once. The client's own transport writes
 * at the end of each burst of microtasks, which for a service that takes requests one by one is a
 * system call for each message: a fifth of a worker's CPU time.
 */
class GatheringTransport extends NodeTransport {
  #frames: Uint8Array[] = [];
  #bytes = 0;

  /**
   * The client gives TLS the names of servers and of their addresses nothing: then Node looks for
   * `localhost` in the certificate.
   */
  override connect(server: { readonly hostname: string }, options: ConnectionOptions) {
    const { tls } = options;
    if (typeof tls !== 'object' || tls === null) return super.connect(server, options);
    return super.connect(server, {
      ...options,
      tls: Object.assign({ host: server.hostname }, tls),
    });
  }

  override send(frame: Uint8Array): void {
    this.#frames.push(frame);
    this.#bytes += frame.length;
    if (this.#bytes >= WRITE_AT_BYTES) this.#write();
    else if (this.#frames.length === 1) setImmediate(() => this.#write());
  }

  /** The client's way to wait for a write, before it closes. */
  override _send(frame: Uint8Array): Promise<void> {
    this.#write();
    return super._send(frame);
  }

  #write(): void {
    const frames = this.#frames;
    const [first] = frames;
    if (first === undefined) return;
    const bytes = this.#bytes;
    this.#frames = [];
    this.#bytes = 0;
    if (this.isClosed || this.socket === undefined) return;
    // A failed write is seen by the socket's close, as the client's own transport has it.
    this.socket.write(frames.length === 1 ? first : Buffer.concat(frames, bytes));
  }
}

/** As the client's `connect`, with {@link GatheringTransport}. */
export function connectGathering(options: ConnectionOptions): Promise<NatsConnection> {
  setTransportFactory({
    factory: () => new GatheringTransport() as never,
    dnsResolveFn: nodeResolveHost,
  });
  return NatsConnectionImpl.connect(options);
}
