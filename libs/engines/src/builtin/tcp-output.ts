import { connect, type Socket } from 'node:net';

const CONNECT_MS = 10_000;
const WRITE_MS = 30_000;

/** A TCP connection for output; the next write after a failure opens it again. */
export class TcpOutput {
  readonly #host: string;
  readonly #port: number;
  readonly #onData: (data: Buffer) => void;
  readonly #onGone: () => void;
  #socket: Promise<Socket> | undefined;

  constructor(
    host: string,
    port: number,
    receive: { readonly onData?: (data: Buffer) => void; readonly onGone?: () => void } = {},
  ) {
    this.#host = host;
    this.#port = port;
    this.#onData = receive.onData ?? (() => undefined);
    this.#onGone = receive.onGone ?? (() => undefined);
  }

  /** Resolves when the system has the bytes. @throws Error without a connection */
  async write(bytes: Uint8Array): Promise<void> {
    const socket = await this.#connected();
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => socket.destroy(new Error('it takes nothing')), WRITE_MS);
      socket.write(bytes, (error) => {
        clearTimeout(timer);
        if (error == null) resolve();
        else reject(error);
      });
    });
  }

  close(): void {
    this.#socket?.then((socket) => socket.end()).catch(() => undefined);
    this.#socket = undefined;
  }

  #connected(): Promise<Socket> {
    this.#socket ??= this.#connect();
    return this.#socket;
  }

  #connect(): Promise<Socket> {
    const made = new Promise<Socket>((resolve, reject) => {
      const socket = connect({ host: this.#host, port: this.#port });
      const timer = setTimeout(
        () => socket.destroy(new Error('no connection in time')),
        CONNECT_MS,
      );
      socket.once('connect', () => {
        clearTimeout(timer);
        resolve(socket);
      });
      socket.once('error', (error) => reject(error));
      socket.on('data', (data) => this.#onData(data));
      socket.once('close', () => {
        clearTimeout(timer);
        if (this.#socket === made) this.#socket = undefined;
        this.#onGone();
        reject(new Error('the connection was closed'));
      });
    });
    made.catch(() => undefined);
    return made;
  }
}
