import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunningPostgres } from '@brine/postgres-server';
import { startPostgres as startEmbedded } from '@brine/postgres-server';

/** A PostgreSQL of one test, or of one test file. */
export interface TestPostgres extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly dir: string;
  /** The process that a test may kill; it is started again on the same port. */
  pid(): number;
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
}

/** Starts the embedded PostgreSQL on an empty data directory (about one second). */
export async function startPostgres(): Promise<TestPostgres> {
  const dir = await mkdtemp(join(tmpdir(), 'brine-pg-'));
  // Under root the server runs as another user, which must be able to enter the directory.
  await chmod(dir, 0o755);
  let server: RunningPostgres;
  try {
    server = await startEmbedded({ dir });
  } catch (error) {
    await rm(dir, { recursive: true, force: true });
    throw error;
  }
  const stop = async (): Promise<void> => {
    await server.stop();
    await rm(dir, { recursive: true, force: true });
  };
  return {
    url: server.url,
    port: server.port,
    dir,
    pid: () => server.pid(),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
