import { tcpEndpoint } from './endpoint.ts';
import type { RequestOptions } from './request-client.ts';
import { RequestClient } from './request-client.ts';
import { Subscriber } from './subscriber.ts';

/** One connection to port 4506, or several that look like one. */
export interface MasterRequests {
  request(body: Uint8Array, options: RequestOptions): Promise<Uint8Array>;
}

/** A subscription of port 4505: yields frames of publications until it is closed. */
export interface MasterPublications extends AsyncIterable<Uint8Array> {
  /** Resolves when the master has been reached for the first time. */
  readonly connected: Promise<void>;
  close(): Promise<void>;
}

/** The address of a master, and how to reconnect. */
export interface MasterLinkOptions {
  readonly host: string;
  readonly port: number;
  readonly reconnectMs: number;
  readonly reconnectMaxMs: number;
  readonly reconnectRandomize: boolean;
}

// A master may answer a return after seconds; the other connections are free meanwhile.
const REQUEST_CONNECTIONS = 4;
// As in the master: a publication carries arguments, at most as large as a request.
const MAX_PUBLICATION_BYTES = 104_857_600;

/** The connections of a minion or a syndic to one master; `close` ends them all. */
export class MasterLink {
  readonly auth: MasterRequests;
  readonly requests: MasterRequests;
  readonly #options: MasterLinkOptions;
  readonly #clients: RequestClient[] = [];

  constructor(options: MasterLinkOptions) {
    this.#options = options;
    this.auth = this.#connect();
    const several = Array.from({ length: REQUEST_CONNECTIONS }, () => this.#connect());
    this.requests = new SharedRequests(several);
  }

  /** `onLink` is called with `true` when the connection comes up, with `false` when it is lost. */
  subscribe(publishPort: number, onLink?: (isUp: boolean) => void): MasterPublications {
    const { host, reconnectMs, reconnectMaxMs, reconnectRandomize } = this.#options;
    let connected = (): void => undefined;
    const isConnected = new Promise<void>((resolve) => (connected = resolve));
    const subscriber = new Subscriber({
      endpoint: tcpEndpoint(host, publishPort),
      reconnectMs,
      reconnectMaxMs,
      reconnectRandomize,
      maxMessageBytes: MAX_PUBLICATION_BYTES,
      onConnect: () => {
        connected();
        onLink?.(true);
      },
      onDisconnect: () => onLink?.(false),
    });
    return {
      connected: isConnected,
      close: () => subscriber.close(),
      [Symbol.asyncIterator]: () => lastFrames(subscriber),
    };
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
  }

  #connect(): RequestClient {
    const endpoint = tcpEndpoint(this.#options.host, this.#options.port);
    const client = new RequestClient({ endpoint });
    this.#clients.push(client);
    return client;
  }
}

/** `master: host:port` names a port of its own; brackets enclose an IPv6 address. */
export function masterAddress(
  master: string,
  port: number,
): { readonly host: string; readonly port: number } {
  const match = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(master);
  const host = match?.[1] ?? match?.[2] ?? master;
  return { host, port: match?.[3] === undefined ? port : Number(match[3]) };
}

/** With `zmq_filtering` the topic goes first; the publication is the last frame. */
async function* lastFrames(subscriber: Subscriber): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const frames of subscriber) {
    const frame = frames.at(-1);
    if (frame !== undefined) yield frame;
  }
}

/** Gives each request to the connection with the shortest queue. */
class SharedRequests implements MasterRequests {
  readonly #lanes: { readonly client: MasterRequests; load: number }[];

  constructor(clients: readonly MasterRequests[]) {
    this.#lanes = clients.map((client) => ({ client, load: 0 }));
  }

  async request(body: Uint8Array, options: RequestOptions): Promise<Uint8Array> {
    const lane = this.#lanes.reduce((best, one) => (one.load < best.load ? one : best));
    lane.load += 1;
    try {
      return await lane.client.request(body, options);
    } finally {
      lane.load -= 1;
    }
  }
}
