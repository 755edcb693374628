import type { Random } from '../random.ts';
import type { VirtualTime } from '../virtual-time.ts';
import type { Interest } from './connection.ts';
import { SimConnection } from './connection.ts';
import { Interests } from './interests.ts';
import type { DiskCopy } from './jet-stream.ts';
import { JetStream } from './jet-stream.ts';
import type { SimMessage } from './message.ts';
import { status } from './message.ts';

/** How long a server that was killed is away, in ms. */
const RESTART_MS = { least: 300, most: 3_000 };

/** A NATS server with JetStream: what Brine uses of it, in memory. */
export class SimNats {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly interests = new Interests();
  readonly streams: JetStream;
  readonly #connections = new Set<SimConnection>();
  #up = true;

  constructor(time: VirtualTime, random: Random) {
    this.time = time;
    this.random = random;
    this.streams = new JetStream(time, {
      deliver: (inbox, message) => this.#deliver(inbox, message),
      hears: (inbox) => this.interests.of(inbox).length > 0,
    });
  }

  get isUp(): boolean {
    return this.#up;
  }

  connect(name: string): SimConnection {
    const connection = new SimConnection(this, name);
    this.#connections.add(connection);
    if (!this.#up) connection.cut(250);
    return connection;
  }

  /** A message has come from a connection. */
  take(message: SimMessage): void {
    if (!this.#up) return;
    const { subject, reply } = message;
    const taken = this.streams.take(message);
    const heard = this.route(message);
    if (taken || heard || reply === undefined || subject.startsWith('$JS.ACK.')) return;
    this.route({
      subject: reply,
      data: new Uint8Array(0),
      headers: status(503, 'No Responders'),
    });
  }

  /** Hands a message to who wants it; of a queue group one member gets it. */
  route(message: SimMessage): boolean {
    const groups = new Map<string, Interest[]>();
    let heard = false;
    for (const interest of this.interests.of(message.subject)) {
      heard = true;
      if (interest.queue === undefined) interest.deliver(message);
      else groups.set(interest.queue, [...(groups.get(interest.queue) ?? []), interest]);
    }
    for (const members of groups.values()) this.random.pick(members).deliver(message);
    return heard;
  }

  /** A connection's wire broke. */
  lost(): void {
    this.streams.interestLost();
  }

  forget(connection: SimConnection): void {
    this.interests.removeAllOf(connection);
    this.#connections.delete(connection);
    this.streams.interestLost();
  }

  /** A message of JetStream's keeps its own subject, whatever inbox it goes to. */
  #deliver(inbox: string, message: SimMessage): void {
    for (const interest of this.interests.of(inbox)) interest.deliver(message);
  }

  /** Kills the server: every connection breaks, what is on disk stays. */
  restart(): void {
    if (!this.#up) return;
    this.#goDown();
    this.time.after(this.random.between(RESTART_MS.least, RESTART_MS.most), () => {
      this.#up = true;
    });
  }

  /** Stops it, puts an older copy of its disk in place, and starts it again. */
  restore(copies: ReadonlyMap<string, DiskCopy>, whenDone: () => void): void {
    this.#goDown();
    this.time.after(this.random.between(RESTART_MS.least, RESTART_MS.most), () => {
      this.streams.restoreAll(copies);
      this.#up = true;
      whenDone();
    });
  }

  #goDown(): void {
    this.#up = false;
    for (const connection of this.#connections) connection.cut(this.random.between(50, 400));
    this.streams.restarted();
  }
}
