import {
  type AddressInfo,
  createConnection,
  createServer,
  type Server,
  type Socket,
} from 'node:net';
import { type Direction, picked } from './plan.ts';

/** A connection from a client, and the one to the server for it. */
interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

/** More than any user of the proxy needs. The limit stops a loop that reconnects. */
const MAX_CONNECTIONS = 20_000;

/** An address with a listener. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The target of a proxy, queried for each connection: a server may not run yet. */
export type Upstream = () => Promise<Address>;

/** Forwards TCP between clients and a server of this host, until a fault is injected. */
export class FaultProxy {
  readonly #listener: Server;
  readonly #upstream: Upstream;
  readonly #pairs = new Set<Pair>();
  #stalled: Direction | undefined;
  #refusing = false;

  private constructor(listener: Server, upstream: Upstream) {
    this.#listener = listener;
    this.#upstream = upstream;
  }

  /** Listens on a free port, or on this one. */
  static async listen(upstream: Upstream, host = '127.0.0.1', port = 0): Promise<FaultProxy> {
    const listener = createServer({ allowHalfOpen: true, pauseOnConnect: true });
    listener.maxConnections = MAX_CONNECTIONS;
    const proxy = new FaultProxy(listener, upstream);
    listener.on('connection', (client) => void proxy.#connect(client));
    await new Promise<void>((resolve, reject) => {
      listener.once('error', reject);
      listener.listen(port, host, resolve);
    });
    return proxy;
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port;
  }

  /** Number of open connections. */
  get connections(): number {
    return this.#pairs.size;
  }

  /** Cuts all connections, or one by `pick` (parts of a thousand). Returns their number. */
  cut(pick?: number): number {
    const all = [...this.#pairs];
    const one = pick === undefined ? undefined : picked(all, pick);
    const chosen = pick === undefined ? all : one === undefined ? [] : [one];
    for (const { client, server } of chosen) {
      // A reset, not an orderly end: data in flight is lost.
      client.resetAndDestroy();
      server.resetAndDestroy();
    }
    return chosen.length;
  }

  /** Reads nothing more from one side or both: connections stay open, and data waits. */
  stall(direction: Direction): void {
    this.#stalled = direction;
    for (const { client, server } of this.#pairs) {
      if (direction !== 'to-client') client.pause();
      if (direction !== 'to-server') server.pause();
    }
  }

  /** Cuts all connections and accepts no new ones. */
  refuse(): void {
    this.#refusing = true;
    this.cut();
  }

  /** Forwards everything again, also data that has waited. */
  mend(): void {
    this.#refusing = false;
    this.#stalled = undefined;
    for (const { client, server } of this.#pairs) {
      client.resume();
      server.resume();
    }
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise<void>((resolve) => this.#listener.close(() => resolve()));
  }

  async #connect(client: Socket): Promise<void> {
    client.on('error', () => client.destroy());
    if (this.#refusing) return void client.resetAndDestroy();
    let to: Address;
    try {
      to = await this.#upstream();
    } catch {
      // The server has not started yet: reset, as a client would see it without the proxy.
      return void client.resetAndDestroy();
    }
    const server = createConnection({ ...to, allowHalfOpen: true });
    server.setNoDelay(true);
    client.setNoDelay(true);
    const pair = { client, server };
    this.#pairs.add(pair);
    this.#join(client, server, 'to-server');
    this.#join(server, client, 'to-client');
    const end = (): void => {
      this.#pairs.delete(pair);
      client.destroy();
      server.destroy();
    };
    server.on('error', end);
    client.on('close', end);
    server.on('close', end);
    if (!this.#delays('to-server')) client.resume();
  }

  #join(from: Socket, to: Socket, direction: Direction): void {
    from.on('data', (chunk) => {
      if (!to.write(chunk)) from.pause();
    });
    to.on('drain', () => {
      if (!this.#delays(direction)) from.resume();
    });
    from.on('end', () => to.end());
    if (this.#delays(direction)) from.pause();
  }

  #delays(direction: Direction): boolean {
    return this.#stalled === 'both' || this.#stalled === direction;
  }
}
