// One PostgreSQL for all files of a layer, with a migrated database that they copy.
import { JobCache } from '@brine/job-cache';
import { startPostgres, type TestPostgres } from '@brine/testing';
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
  const template = await JobCache.connect(server.url);
  await template.close();
  project.provide('postgres', server.url);
}

export async function teardown(): Promise<void> {
  await server.stop();
}
