import type { PublishPeer, PublishServer, PublishServerOptions } from '@brine/zmq';
import type { Random } from './random.ts';
import type { VirtualTime } from './virtual-time.ts';

/** A minion's subscription. */
export interface Subscription {
  /** Breaks it from the minion's side. */
  drop(): void;
}

interface Subscriber {
  readonly peer: PublishPeer;
  readonly onFrame: (frame: Buffer) => void;
  readonly onLost: () => void;
  isOver: boolean;
  at: number;
}

/** A frame that a publisher has handed to its socket. */
export interface SentFrame {
  /** By the clocks of the machines, unix ms. */
  readonly wallMs: number;
  readonly frame: Buffer;
}

/** Port 4505 of the master's address: one publisher has it at a time, subscribers come and go. */
export class PublishPort {
  /** Everything that was sent, for the check of the serials. */
  readonly sent: SentFrame[] = [];
  readonly #time: VirtualTime;
  readonly #random: Random;
  readonly #subscribers = new Set<Subscriber>();
  #options: PublishServerOptions | undefined;
  #ports = 40_000;
  #owner: object | undefined;

  constructor(time: VirtualTime, random: Random) {
    this.#time = time;
    this.#random = random;
  }

  get isBound(): boolean {
    return this.#owner !== undefined;
  }

  /** As `PublishServer.bind`. */
  bind(options: PublishServerOptions): Promise<PublishServer> {
    const owner = {};
    if (this.#owner !== undefined) return Promise.reject(new Error('4505 is in use'));
    this.#owner = owner;
    this.#options = options;
    const isOwner = (): boolean => this.#owner === owner;
    const peers = (): number => (isOwner() ? this.#subscribers.size : 0);
    const server = {
      endpoint: 'tcp://sim:4505',
      get peers() {
        return peers();
      },
      send: (frames: readonly Uint8Array[]) => {
        if (isOwner()) this.#send(Buffer.from(frames.at(-1) ?? []));
        return Promise.resolve();
      },
      close: () => {
        if (isOwner()) this.release();
        return Promise.resolve();
      },
    };
    return Promise.resolve(server as unknown as PublishServer);
  }

  /** The publisher is gone: its subscribers notice. */
  release(): void {
    this.#owner = undefined;
    this.#options = undefined;
    for (const subscriber of [...this.#subscribers]) this.#lose(subscriber);
  }

  /** Subscribes if a publisher is there. */
  subscribe(onFrame: (frame: Buffer) => void, onLost: () => void): Subscription | undefined {
    if (!this.isBound) return undefined;
    const peer = { address: '127.0.0.1', port: this.#ports++, topics: new Set(['']) };
    const subscriber: Subscriber = { peer, onFrame, onLost, isOver: false, at: 0 };
    this.#subscribers.add(subscriber);
    this.#time.after(1, () => {
      if (!subscriber.isOver) this.#options?.onConnect?.(peer);
    });
    return { drop: () => this.#lose(subscriber) };
  }

  #send(frame: Buffer): void {
    this.sent.push({ wallMs: this.#time.wall, frame });
    for (const subscriber of this.#subscribers) {
      const late = this.#random.chance(0.97) ? this.#random.between(0, 2) : 60;
      subscriber.at = Math.max(subscriber.at, this.#time.now + late);
      this.#time.after(subscriber.at - this.#time.now, () => {
        if (!subscriber.isOver) subscriber.onFrame(frame);
      });
    }
  }

  #lose(subscriber: Subscriber): void {
    if (subscriber.isOver) return;
    subscriber.isOver = true;
    this.#subscribers.delete(subscriber);
    this.#options?.onDisconnect?.(subscriber.peer);
    subscriber.onLost();
  }
}
