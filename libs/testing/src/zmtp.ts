import { ThinPeer } from '@brine/zmq';

/** Options of a {@link ZmtpPeer}. */
export interface ZmtpPeerOptions {
  readonly host?: string;
  readonly port: number;
  /** Socket type announced in READY, default `REQ`. */
  readonly socketType?: string;
  /** Identity announced in READY, default none as Salt's REQ sockets. */
  readonly identity?: string;
}

interface Waiting {
  readonly resolve: (frames: Buffer[]) => void;
  readonly reject: (error: Error) => void;
}

/** A {@link ThinPeer} for tests that want to wait for the next message. */
export class ZmtpPeer {
  readonly #inbox: Inbox;
  readonly #peer: ThinPeer;

  private constructor(peer: ThinPeer, inbox: Inbox) {
    this.#peer = peer;
    this.#inbox = inbox;
  }

  /** Connects and shakes hands; rejects when the connection is refused or ended. */
  static async open(options: ZmtpPeerOptions): Promise<ZmtpPeer> {
    const inbox = new Inbox();
    const peer = await ThinPeer.open({
      ...options,
      // A copy: tests may keep a message longer than the socket's buffer should live.
      onMessage: (frames) => inbox.push(frames.map((frame) => Buffer.from(frame))),
      onClose: () => inbox.end(),
    });
    return new ZmtpPeer(peer, inbox);
  }

  /** True if the other side (or {@link close}) has ended the connection. */
  get closed(): boolean {
    return this.#peer.closed;
  }

  /** Writes bytes as they are, past all framing. */
  raw(bytes: Uint8Array): void {
    this.#peer.raw(bytes);
  }

  /** Sends one message of these frames. */
  send(frames: readonly Uint8Array[]): void {
    this.#peer.send(frames);
  }

  /** The next message; rejects when the connection ends or the time is up. */
  receive(timeoutMs: number): Promise<Buffer[]> {
    return this.#inbox.next(timeoutMs);
  }

  /** Sends `[empty][body]` as a REQ does and returns the payload of the answer. */
  async request(body: Uint8Array, timeoutMs: number): Promise<Buffer> {
    this.#peer.sendRequest([body]);
    const frames = await this.receive(timeoutMs);
    const payload = frames[1];
    if (frames.length !== 2 || payload === undefined || frames[0]?.length !== 0) {
      throw new Error(`an answer of ${String(frames.length)} frames`);
    }
    return payload;
  }

  /** For a peer that announced SUB: asks for a topic, '' for everything. */
  subscribe(topic = ''): void {
    this.#peer.subscribe(topic);
  }

  close(): void {
    this.#peer.close();
  }
}

class Inbox {
  readonly #messages: Buffer[][] = [];
  readonly #wanted: Waiting[] = [];
  #ended = false;

  push(message: Buffer[]): void {
    const waiting = this.#wanted.shift();
    if (waiting === undefined) this.#messages.push(message);
    else waiting.resolve(message);
  }

  end(): void {
    this.#ended = true;
    for (const waiting of this.#wanted.splice(0)) waiting.reject(new Error('connection closed'));
  }

  next(timeoutMs: number): Promise<Buffer[]> {
    const next = this.#messages.shift();
    if (next !== undefined) return Promise.resolve(next);
    if (this.#ended) return Promise.reject(new Error('connection closed'));
    return new Promise((resolve, reject) => {
      // If this process was paused, messages may be unread: its sockets come first.
      const timer = setTimeout(() => setImmediate(late), timeoutMs);
      const late = (): void => {
        const index = this.#wanted.indexOf(entry);
        if (index < 0) return;
        this.#wanted.splice(index, 1);
        reject(new Error(`nothing received within ${String(timeoutMs)} ms`));
      };
      const entry: Waiting = {
        resolve: (frames) => {
          clearTimeout(timer);
          resolve(frames);
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      };
      this.#wanted.push(entry);
    });
  }
}
