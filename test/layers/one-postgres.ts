// One PostgreSQL for all files of a layer, with a migrated database that they copy.
import { JobCache } from '@brine/job-cache';
import { startPostgres, type TestPostgres } from '@brine/testing';
import pg from 'pg';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of the layer's PostgreSQL. */
    readonly postgres: string;
  }
}

let server: TestPostgres;

export async function setup(project: TestProject): Promise<void> {
  server = await startPostgres();
  // Files copy the template as the role of the services, which owns it. On a server of a master it
  // can neither make databases nor enter this one.
  const superuser = new pg.Client({ connectionString: server.superuserUrl });
  await superuser.connect();
  await superuser.query('ALTER ROLE brine_services CREATEDB');
  await superuser.query('GRANT CONNECT ON DATABASE postgres TO brine_services');
  // A database with a process of autovacuum in it can be removed by the superuser alone.
  await superuser.query('ALTER SYSTEM SET autovacuum = off');
  await superuser.query('SELECT pg_reload_conf()');
  await superuser.end();
  const template = await JobCache.connect(server.url);
  await template.close();
  project.provide('postgres', server.url);
}

export async function teardown(): Promise<void> {
  await server.stop();
}
