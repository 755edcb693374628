import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import type { ConnectionOptions, Msg, MsgHdrs, NatsConnection } from '@nats-io/nats-core';
import { NatsConnectionImpl, setTransportFactory } from '@nats-io/nats-core/internal';

/**
 * All that Brine uses of the NATS client beyond its documented interface. No other file may use
 * more of it. `client-internals.test.ts` lists the checks for an upgrade of the client.
 */
export const CLIENT_VERSION = '3.4.0';

/** The used part of the client's transport for Node, which its package does not export. */
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

/** Beyond this many bytes the transport does not wait for the end of the turn. */
const WRITE_AT_BYTES = 256 * 1024;

/**
 * Joins all that is sent within one turn of the event loop into one write. The client's own
 * transport writes after each burst of microtasks. With 256 appends or requests in flight that
 * costs 5 % more CPU (`bench/throughput.ts`).
 */
class GatheringTransport extends NodeTransport {
  #frames: Uint8Array[] = [];
  #bytes = 0;

  /**
   * For a server that is named by its address, the client gives TLS no name to check. Node then
   * expects `localhost` in the certificate.
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

  /** The client waits for this write before it closes. */
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
    // After a failed write the socket closes. The client handles that, as with its own transport.
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

/** Where the client keeps the bytes of a message until it parses them. */
interface UnparsedMsg {
  readonly _rdata?: Uint8Array;
  readonly _msg?: { readonly hdr: number };
}

/**
 * The bytes of a message's headers as they came, empty for a message without headers. Undefined for
 * a message that another release of the client made, or a test. Reading an event by the client's
 * own headers costs 18 % more CPU (`bench/throughput.ts`), and a stray could not be kept as it
 * came.
 */
export function headerBytes(msg: Msg): Buffer | undefined {
  const { _rdata: bytes, _msg: parsed } = msg as UnparsedMsg;
  if (bytes === undefined || parsed === undefined) return undefined;
  return Buffer.from(bytes.buffer, bytes.byteOffset, Math.max(0, parsed.hdr));
}

/** Headers to publish, encoded already. The client only calls `encode` of headers to publish. */
export function encodedHeaders(bytes: Uint8Array): MsgHdrs {
  return { encode: () => bytes } as Partial<MsgHdrs> as MsgHdrs;
}
