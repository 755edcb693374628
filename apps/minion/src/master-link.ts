import type { MasterPort, MasterRequests, Publications, RequestLimits } from '@brine/minion';
import { RequestClient, Subscriber, tcpEndpoint } from '@brine/zmq';

/** Where a master is, and how to come back to it. */
export interface MasterLinkOptions {
  readonly host: string;
  readonly port: number;
  readonly reconnectMs: number;
  readonly reconnectMaxMs: number;
  readonly reconnectRandomize: boolean;
}

// A master may hold a return for seconds; a few others can still get through meanwhile.
const REQUEST_CONNECTIONS = 4;
// As master: a publication carries arguments, at most what a request may carry.
const MAX_PUBLICATION_BYTES = 104_857_600;

/** The connections to one master; `close` ends them all. */
export class MasterLink implements MasterPort {
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

  subscribe(publishPort: number): Publications {
    const { host, reconnectMs, reconnectMaxMs, reconnectRandomize } = this.#options;
    let connected = (): void => undefined;
    const isConnected = new Promise<void>((resolve) => (connected = resolve));
    const subscriber = new Subscriber({
      endpoint: tcpEndpoint(host, publishPort),
      reconnectMs,
      reconnectMaxMs,
      reconnectRandomize,
      maxMessageBytes: MAX_PUBLICATION_BYTES,
      onConnect: () => connected(),
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

/** With `zmq_filtering` the topic goes first; the publication is the last frame. */
async function* lastFrames(subscriber: Subscriber): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const frames of subscriber) {
    const frame = frames.at(-1);
    if (frame !== undefined) yield frame;
  }
}

/** Gives each request to the connection with the fewest in front of it. */
class SharedRequests implements MasterRequests {
  readonly #lanes: { readonly client: MasterRequests; load: number }[];

  constructor(clients: readonly MasterRequests[]) {
    this.#lanes = clients.map((client) => ({ client, load: 0 }));
  }

  async request(body: Uint8Array, options: RequestLimits): Promise<Uint8Array> {
    const lane = this.#lanes.reduce((best, one) => (one.load < best.load ? one : best));
    lane.load += 1;
    try {
      return await lane.client.request(body, options);
    } finally {
      lane.load -= 1;
    }
  }
}
