import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunningPostgres } from '@brine/postgres-server';
import { startPostgres as startEmbedded } from '@brine/postgres-server';

/** A PostgreSQL of one test, or of one test file. */
export interface TestPostgres extends AsyncDisposable {
  readonly url: string;
  /** For acts that the role of the services has no right to: other roles, databases, settings. */
  readonly superuserUrl: string;
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
    superuserUrl: await superuserUrl(dir, server.port),
    port: server.port,
    dir,
    pid: () => server.pid(),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** The address of a server that was started below a directory, for its superuser. */
export async function superuserUrl(dir: string, port: number): Promise<string> {
  const password = (await readFile(join(dir, 'password'), 'utf8')).trim();
  return `postgres://brine:${password}@127.0.0.1:${port}/brine`;
}
