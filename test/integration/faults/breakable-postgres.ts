import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunningPostgres, startPostgres } from '@brine/postgres-server';
import { endPool } from '@brine/testing';
import pg from 'pg';

/** A PostgreSQL that a test takes away from a running master and gives back. */
export class BreakablePostgres implements AsyncDisposable {
  readonly pool: pg.Pool;
  readonly #dir: string;
  #server: RunningPostgres;

  private constructor(dir: string, server: RunningPostgres) {
    this.#dir = dir;
    this.#server = server;
    this.pool = new pg.Pool({ connectionString: server.url, max: 2 });
    this.pool.on('error', () => undefined); // The server goes: that is what it is for.
  }

  static async start(): Promise<BreakablePostgres> {
    const dir = await mkdtemp(join(tmpdir(), 'brine-breakable-'));
    // As root the server runs as another user, who has to enter the directory.
    await chmod(dir, 0o755);
    return new BreakablePostgres(dir, await startPostgres({ dir }));
  }

  get url(): string {
    return this.#server.url;
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }

  /** Starts it again on its port, with its data. */
  async again(): Promise<void> {
    this.#server = await startPostgres({ dir: this.#dir, port: this.#server.port });
  }

  /** The number that a query gives as `count`. */
  async count(text: string, values: readonly unknown[] = []): Promise<number> {
    const { rows } = await this.pool.query<{ count: number }>(text, [...values]);
    return rows[0]?.count ?? Number.NaN;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await endPool(this.pool);
    await this.#server.stop();
    await rm(this.#dir, { recursive: true, force: true });
  }
}
