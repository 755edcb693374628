import { endPool, makeDatabase } from '@brine/testing';
import pg from 'pg';
import { afterAll } from 'vitest';
import { JobCache, type JobCacheOptions } from '../src/job-cache.ts';

/** A database of this test file, and connections for its questions. */
interface DatabaseScene {
  readonly url: string;
  readonly pool: pg.Pool;
}

/** Makes a database with the schema, which is dropped after the tests of the file. */
export async function databaseScene(): Promise<DatabaseScene> {
  const database = await makeDatabase();
  const pool = new pg.Pool({ connectionString: database.url, max: 2 });
  afterAll(async () => {
    await endPool(pool);
    await database.drop();
  });
  return { url: database.url, pool };
}

/** The same with a job cache. */
export async function jobCacheScene(
  options?: JobCacheOptions,
): Promise<DatabaseScene & { readonly cache: JobCache }> {
  const scene = await databaseScene();
  const cache = await JobCache.connect(scene.url, options);
  // Hooks run last first: it closes before its database goes.
  afterAll(() => cache.close());
  return { ...scene, cache };
}

const MINUTE = 60_000;
const START = Date.UTC(2026, 10, 20, 10);

/** A time of the scene, in minutes from its start; in ms since 1970. */
export function at(minutes: number): number {
  return START + minutes * MINUTE;
}

/** The jid of a job that was published then. */
export function jidAt(minutes: number): string {
  return `${new Date(at(minutes)).toISOString().replace(/\D/g, '')}000`;
}
