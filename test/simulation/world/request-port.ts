import type { RequestServer, ZmqPeer, ZmqRequest } from '@brine/zmq';
import type { Random } from './random.ts';
import type { VirtualTime } from './virtual-time.ts';

interface Asked {
  readonly peer: number;
  readonly body: Buffer;
  readonly answer: (body: Buffer) => void;
  readonly lost: () => void;
  isOver: boolean;
}

/** The connection that a request came by; its peer hangs up when it has waited long enough. */
class Connection implements ZmqPeer {
  readonly address = '';
  /** Undefined for the sender of a copy of another's bytes: its answer goes to it alone. */
  readonly asked: Asked | undefined;

  constructor(asked: Asked | undefined) {
    this.asked = asked;
  }

  get gone(): boolean {
    return this.asked?.isOver ?? false;
  }
}

/** How the network between minions and 4506 behaves; clients are on the master's host. */
export interface PeerFaults {
  /** Share of requests that never arrive. */
  lostRequests: number;
  /** Share of answers that never arrive. */
  lostAnswers: number;
  /** Share of requests that arrive twice. */
  doubled: number;
}

/** Port 4506 of the master's address: one gateway has it at a time. */
export class RequestPort {
  readonly faults: PeerFaults = { lostRequests: 0, lostAnswers: 0, doubled: 0 };
  readonly #time: VirtualTime;
  readonly #random: Random;
  readonly #open = new Map<number, Asked>();
  #queue: ZmqRequest[] = [];
  #wake: (() => void) | undefined;
  #owner: object | undefined;
  #waiting: Asked[] = [];
  #peers = 0;
  readonly #local = new Set<number>();

  constructor(time: VirtualTime, random: Random) {
    this.#time = time;
    this.#random = random;
  }

  /** A peer's number: one for each connection. */
  newPeer(place: 'far' | 'local' = 'far'): number {
    this.#peers += 1;
    if (place === 'local') this.#local.add(this.#peers);
    return this.#peers;
  }

  /** As `RequestServer.bind`. */
  bind(): Promise<RequestServer> {
    if (this.#owner !== undefined) return Promise.reject(new Error('4506 is in use'));
    const owner = {};
    this.#owner = owner;
    this.#queue = [];
    const waiting = this.#waiting;
    this.#waiting = [];
    // Those that found no gateway connect again within moments.
    for (const asked of waiting)
      this.#time.after(this.#random.between(5, 120), () => this.#arrive(asked));
    const isOwner = (): boolean => this.#owner === owner;
    const server = {
      endpoint: 'tcp://sim:4506',
      stats: {
        connections: 0,
        received: 0,
        replied: 0,
        malformed: 0,
        hungUp: 0,
        turnedAway: 0,
      },
      reply: (peer: Connection, body: Uint8Array) =>
        isOwner() && this.#reply(peer, Buffer.from(body)),
      leave: () => Promise.resolve(),
      close: () => {
        if (isOwner()) this.release();
        return Promise.resolve();
      },
      [Symbol.asyncIterator]: () => this.#requests(isOwner),
    };
    return Promise.resolve(server as unknown as RequestServer);
  }

  /** The gateway is gone, with what it had in hand. */
  release(): void {
    this.#owner = undefined;
    this.#wakeUp();
    for (const asked of [...this.#open.values()]) {
      this.#open.delete(asked.peer);
      asked.lost();
    }
  }

  /**
   * Sends a request; resolves with the answer, or undefined when the time is up. `lost`: called
   * when the gateway that had it is gone.
   */
  request(
    peer: number,
    body: Uint8Array,
    timeoutMs: number,
    lost: () => void = () => undefined,
  ): Promise<Buffer | undefined> {
    return new Promise((resolve) => {
      const asked: Asked = {
        peer,
        body: Buffer.from(body),
        isOver: false,
        answer: (answer) => end(answer),
        lost: () => {
          if (!asked.isOver) lost();
        },
      };
      const end = (answer: Buffer | undefined): void => {
        asked.isOver = true;
        cancel();
        resolve(answer);
      };
      const cancel = this.#time.after(timeoutMs, () => end(undefined));
      const isFar = !this.#local.has(peer);
      if (isFar && this.#random.chance(this.faults.lostRequests)) return;
      const twice = isFar && this.#random.chance(this.faults.doubled);
      this.#time.after(this.#random.between(0, 3), () => this.#arrive(asked));
      if (twice) this.#time.after(this.#random.between(3, 2_000), () => this.#arrive(asked, true));
    });
  }

  #arrive(asked: Asked, isCopy = false): void {
    if (asked.isOver && !isCopy) return;
    if (this.#owner === undefined) {
      if (!isCopy) this.#waiting.push(asked);
      return;
    }
    if (!isCopy) this.#open.set(asked.peer, asked);
    // The sender of a copy of another's bytes is another peer.
    const peer = new Connection(isCopy ? undefined : asked);
    this.#queue.push({ peer, body: Buffer.from(asked.body) });
    this.#wakeUp();
  }

  async *#requests(isOwner: () => boolean): AsyncGenerator<ZmqRequest, void> {
    while (isOwner()) {
      const request = this.#queue.shift();
      if (request !== undefined) yield request;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** False if the peer is gone. */
  #reply({ asked }: Connection, body: Buffer): boolean {
    if (asked === undefined) return true;
    if (asked.isOver || this.#open.get(asked.peer) !== asked) return false;
    this.#open.delete(asked.peer);
    if (!this.#local.has(asked.peer) && this.#random.chance(this.faults.lostAnswers)) return true;
    this.#time.after(this.#random.between(0, 3), () => {
      if (!asked.isOver) asked.answer(body);
    });
    return true;
  }

  #wakeUp(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}
