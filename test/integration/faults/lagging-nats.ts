import { connect, createServer, type Server, type Socket } from 'node:net';

/** What becomes of a message: ms for which it is held back, or `drop`. */
export type Lag = number | 'drop';

const LINE_END = Buffer.from('\r\n');

/**
 * A way to a NATS server on which messages to the client are late, by their subject. Everything
 * else passes in its order; so does what is late among itself where all of it is equally late.
 */
export class LaggingNats implements AsyncDisposable {
  readonly #server: Server;
  readonly #target: URL;
  readonly #lagOf: (subject: string) => Lag;
  readonly #passed = new Map<string, number>();
  readonly #sockets = new Set<Socket>();

  private constructor(target: URL, lagOf: (subject: string) => Lag) {
    this.#target = target;
    this.#lagOf = lagOf;
    this.#server = createServer((client) => this.#join(client));
  }

  static async start(url: string, lagOf: (subject: string) => Lag): Promise<LaggingNats> {
    const lagging = new LaggingNats(new URL(url), lagOf);
    await new Promise<void>((resolve) => lagging.#server.listen(0, '127.0.0.1', resolve));
    return lagging;
  }

  /** As that of the server, with its user. */
  get url(): string {
    const url = new URL(this.#target);
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('closed');
    url.port = String(address.port);
    return url.href.replace(/\/$/, '');
  }

  /** Late messages on a subject that have reached a client by now, on all connections. */
  passed(subject: string): number {
    return this.#passed.get(subject) ?? 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(client: Socket): void {
    const server = connect(Number(this.#target.port), this.#target.hostname);
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    client.pipe(server);
    const reader = new MessageReader((frame, subject) => this.#pass(client, frame, subject));
    server.on('data', (chunk: Buffer) => reader.take(chunk));
  }

  #pass(client: Socket, frame: Buffer, subject: string | undefined): void {
    const lag = subject === undefined ? 0 : this.#lagOf(subject);
    if (lag === 'drop') return;
    if (lag === 0 || subject === undefined) {
      client.write(frame);
      return;
    }
    setTimeout(() => {
      if (client.destroyed) return;
      this.#passed.set(subject, this.passed(subject) + 1);
      client.write(frame);
    }, lag);
  }
}

/** Cuts what a NATS server sends into its frames (docs.nats.io, client protocol). */
class MessageReader {
  readonly #onFrame: (frame: Buffer, subject: string | undefined) => void;
  #rest: Buffer = Buffer.alloc(0);

  constructor(onFrame: (frame: Buffer, subject: string | undefined) => void) {
    this.#onFrame = onFrame;
  }

  take(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const end = this.#rest.indexOf(LINE_END);
      if (end < 0) return;
      const words = this.#rest.toString('utf8', 0, end).split(' ');
      const isMessage = words[0] === 'MSG' || words[0] === 'HMSG';
      // MSG <subject> <sid> [reply] <bytes>; HMSG has the bytes of its headers before.
      const body = isMessage ? Number(words.at(-1)) + LINE_END.length : 0;
      const length = end + LINE_END.length + body;
      if (this.#rest.length < length) return;
      this.#onFrame(this.#rest.subarray(0, length), isMessage ? words[1] : undefined);
      this.#rest = this.#rest.subarray(length);
    }
  }
}
