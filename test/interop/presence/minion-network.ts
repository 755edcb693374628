import { connect, createServer, type Server, type Socket } from 'node:net';

/** One connection through the network, both halves. */
interface Pair {
  readonly minion: Socket;
  /** Undefined for one that came while the network was cut. */
  readonly master: Socket | undefined;
}

/** Where a network leads, and how the master sees those that come by it. */
export interface MinionNetworkOptions {
  /** The loopback address that minions take for the master's. */
  readonly listen: string;
  /** The loopback address that the master sees. */
  readonly from: string;
  /** The master's ports on 127.0.0.1; the same here. */
  readonly ports: readonly number[];
}

/**
 * The network between some minions and the master: a relay on addresses of its own, so that the
 * master sees each network under another address. While it is cut, it forwards nothing and tells
 * neither side of an end: no FIN, no RST, as where packets are dropped.
 */
export class MinionNetwork implements AsyncDisposable {
  readonly listen: string;
  readonly from: string;
  readonly #servers: Server[] = [];
  readonly #pairs = new Set<Pair>();
  /** No connection begins, and none is told to end. */
  #isCut = false;
  /** What minions send vanishes. */
  #drops = false;

  private constructor({ listen, from }: MinionNetworkOptions) {
    this.listen = listen;
    this.from = from;
  }

  static async open(options: MinionNetworkOptions): Promise<MinionNetwork> {
    const network = new MinionNetwork(options);
    for (const port of options.ports) await network.#serve(port);
    return network;
  }

  /** Nothing comes through any more; neither side is told. */
  cut(): void {
    this.#isCut = true;
    for (const { minion, master } of this.#pairs) {
      minion.pause();
      master?.pause();
    }
  }

  /**
   * What minions send is lost from here on, as where a filter drops what reaches the master; what
   * the master sends still comes through. New connections are not answered.
   */
  dropFromMinions(): void {
    this.#isCut = true;
    this.#drops = true;
  }

  /** What waited comes through, also the ends of connections. */
  heal(): void {
    this.#isCut = false;
    this.#drops = false;
    for (const pair of this.#pairs) {
      // It never reached the master.
      if (pair.master === undefined) this.#end(pair);
      else {
        pair.minion.resume();
        pair.master.resume();
      }
    }
  }

  async close(): Promise<void> {
    for (const pair of [...this.#pairs]) this.#end(pair);
    await Promise.all(
      this.#servers.map((server) => new Promise((resolve) => server.close(resolve))),
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #serve(port: number): Promise<void> {
    const server = createServer({ noDelay: true }, (minion) => this.#relay(minion, port));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host: this.listen, port }, resolve);
    });
    this.#servers.push(server);
  }

  #relay(minion: Socket, port: number): void {
    if (this.#isCut) {
      minion.pause().on('error', ignore);
      this.#pairs.add({ minion, master: undefined });
      return;
    }
    const master = connect({ host: '127.0.0.1', port, localAddress: this.from, noDelay: true });
    const pair = { minion, master };
    this.#pairs.add(pair);
    for (const [one, other] of [
      [minion, master],
      [master, minion],
    ] as const) {
      one.on('data', (chunk) => {
        if (one !== minion || !this.#drops) other.write(chunk);
      });
      one.on('error', ignore);
      one.on('close', () => {
        // A side that ends in a cut is not told of to the other one.
        if (!this.#isCut) this.#end(pair);
      });
    }
  }

  #end(pair: Pair): void {
    this.#pairs.delete(pair);
    pair.minion.destroy();
    pair.master?.destroy();
  }
}

function ignore(): void {
  // 'close' follows.
}
