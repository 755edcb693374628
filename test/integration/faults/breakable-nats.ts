import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type NatsServer, resolveNatsServer, startNatsServer } from '@brine/nats-server';

/** Enough for any test here, little for any disk. In bytes. */
const STORE_BYTES = 1024 ** 3;

/** A NATS server that a test takes away from a running master and gives back. */
export class BreakableNats implements AsyncDisposable {
  readonly dir: string;
  readonly #binary: string;
  #server: NatsServer;

  private constructor(dir: string, binary: string, server: NatsServer) {
    this.dir = dir;
    this.#binary = binary;
    this.#server = server;
  }

  static async start(): Promise<BreakableNats> {
    const binary = await resolveNatsServer({ env: process.env });
    const dir = await mkdtemp(join(tmpdir(), 'brine-away-'));
    const server = await startNatsServer({
      binary,
      dir: join(dir, 'nats'),
      maxFileStore: STORE_BYTES,
    });
    return new BreakableNats(dir, binary, server);
  }

  /** For all services of one master. */
  get url(): string {
    return this.#server.urls.admin;
  }

  get pid(): number {
    return this.#server.pid;
  }

  /** As a power cut ends it. */
  async kill(): Promise<void> {
    process.kill(this.#server.pid, 'SIGKILL');
    await this.#server.exited;
  }

  /** Ends it in order. */
  async stop(): Promise<void> {
    await this.#server.stop();
  }

  /** Starts it again on its port, on what its directory holds. */
  async again(): Promise<void> {
    this.#server = await startNatsServer({
      binary: this.#binary,
      dir: join(this.dir, 'nats'),
      port: this.#server.port,
      maxFileStore: STORE_BYTES,
    });
  }

  /** Copies the streams as they are on disk now. */
  async copyStreams(): Promise<string> {
    const copy = join(this.dir, 'older');
    await rm(copy, { recursive: true, force: true });
    await cp(join(this.dir, 'nats', 'jetstream'), copy, { recursive: true });
    return copy;
  }

  /** Puts a copy in the place of the streams; the server must be stopped. */
  async restoreStreams(copy: string): Promise<void> {
    const streams = join(this.dir, 'nats', 'jetstream');
    await rm(streams, { recursive: true, force: true });
    await cp(copy, streams, { recursive: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop();
    await rm(this.dir, { recursive: true, force: true });
  }
}
