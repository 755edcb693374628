import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JobCache } from '@brine/job-cache';
import { jobRow, returnRow } from '@brine/testing';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { runningPostgresUrl } from './running.ts';
import { type RunningPostgres, startPostgres } from './start-postgres.ts';

let dir: string;
let server: RunningPostgres;

async function start(): Promise<void> {
  dir = await mkdtemp(join(tmpdir(), 'brine-pg-'));
  await chmod(dir, 0o755);
  server = await startPostgres({ dir });
}

async function stop(): Promise<void> {
  await server.stop();
  await rm(dir, { recursive: true, force: true });
}

async function ask(url: string, ...texts: readonly string[]): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    let rows: unknown[] = [];
    for (const text of texts) {
      rows = (await client.query({ text, rowMode: 'array' })).rows as unknown[];
    }
    return rows;
  } finally {
    await client.end();
  }
}

async function superuserUrl(): Promise<string> {
  const password = (await readFile(join(dir, 'password'), 'utf8')).trim();
  return `postgres://brine:${password}@127.0.0.1:${server.port}/brine`;
}

async function again(): Promise<void> {
  await server.stop();
  server = await startPostgres({ dir });
}

/** The rights that are more than those of the owner of a database. */
const RIGHTS = `SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls
  FROM pg_roles WHERE rolname = current_user`;

/** What the role of initdb owns, beside what initdb made. */
const OF_SUPERUSER = `
  SELECT relname FROM pg_class WHERE relowner = 10 AND oid >= 16384
  UNION ALL SELECT nspname FROM pg_namespace WHERE nspowner = 10 AND oid >= 16384
  UNION ALL SELECT proname FROM pg_proc WHERE proowner = 10 AND oid >= 16384
  UNION ALL SELECT typname FROM pg_type WHERE typowner = 10 AND oid >= 16384
  UNION ALL SELECT datname FROM pg_database WHERE datname = 'brine' AND datdba = 10`;

describe('the role of the services', () => {
  beforeAll(async () => {
    await start();
    await ask(server.url, 'CREATE TABLE t (line text)');
  }, 180_000);
  afterAll(stop);

  test('owns its database, and has no right of a superuser', async () => {
    expect(await ask(server.url, RIGHTS)).toEqual([[false, false, false, false, false]]);
    expect(runningPostgresUrl(dir)).toBe(server.url);
    await ask(server.url, 'CREATE SCHEMA mine', 'CREATE TABLE mine.t (n int)');
  });

  test.each([
    ["COPY (SELECT 1) TO PROGRAM 'id'"],
    ["COPY t FROM PROGRAM 'id'"],
    ["COPY t FROM '/etc/passwd'"],
    ["COPY t TO '/tmp/brine-t'"],
    ["SELECT pg_read_file('/etc/passwd')"],
    ["SELECT lo_import('/etc/passwd')"],
    ['CREATE ROLE other'],
    ['CREATE DATABASE other'],
    ['ALTER ROLE brine_services SUPERUSER'],
    ["ALTER ROLE brine PASSWORD 'mine'"],
    ['GRANT pg_execute_server_program TO brine_services'],
    ['SET SESSION AUTHORIZATION brine'],
    ["ALTER SYSTEM SET archive_command = 'id'"],
    ["CREATE FUNCTION f() RETURNS int LANGUAGE c AS 'libc', 'getpid'"],
    ['SELECT rolpassword FROM pg_authid'],
  ])('may not: %s', async (text) => {
    await expect(ask(server.url, text)).rejects.toMatchObject({ code: '42501' });
  });

  test.each(['postgres', 'template1'])('can not enter the database %s', async (name) => {
    const url = Object.assign(new URL(server.url), { pathname: `/${name}` }).href;
    await expect(ask(url, 'SELECT 1')).rejects.toMatchObject({ code: '42501' });
  });

  test('can not lend the superuser a function at the next start', async () => {
    // What is to be handed over, and so goes through the functions.
    await ask(await superuserUrl(), 'CREATE SCHEMA of_superuser');
    await ask(
      server.url,
      'CREATE SCHEMA evil',
      `CREATE FUNCTION evil.quote_ident(name) RETURNS text LANGUAGE plpgsql AS $$
        BEGIN
          ALTER ROLE brine_services SUPERUSER;
          RETURN pg_catalog.quote_ident($1::text);
        END $$`,
      'ALTER DATABASE brine SET search_path = evil, pg_catalog',
    );
    await again();
    expect(await ask(server.url, RIGHTS)).toEqual([[false, false, false, false, false]]);
  });

  test('has no more rights than these after the next start, whatever it was given', async () => {
    await ask(await superuserUrl(), 'ALTER ROLE brine_services SUPERUSER CREATEROLE');
    await again();
    expect(await ask(server.url, RIGHTS)).toEqual([[false, false, false, false, false]]);
  });
});

describe('data of a release whose services were the superuser', () => {
  const jid = '20261128100000000001';

  beforeEach(start, 180_000);
  afterEach(stop);
  beforeEach(async () => {
    const superuser = await superuserUrl();
    await ask(
      superuser,
      'ALTER DATABASE brine OWNER TO brine',
      'DROP OWNED BY brine_services CASCADE',
      'DROP ROLE brine_services, brine_store, brine_returner, brine_reader',
    );
    await rm(join(dir, 'services-password'));
    const cache = await JobCache.connect(superuser);
    await cache.saveJobs([jobRow(jid)]);
    await cache.saveReturns([returnRow(jid, 'm1', 1)]);
    await cache.close();
    await ask(
      superuser,
      'CREATE TABLE public.own (id serial PRIMARY KEY, "Odd name" text)',
      `CREATE TYPE public.mood AS ENUM ('a')`,
      'CREATE DOMAIN public."Small" AS int',
      'CREATE PROCEDURE public.act(text) LANGUAGE sql AS $$SELECT 1$$',
      'CREATE MATERIALIZED VIEW public.seen AS SELECT 1 AS n',
    );
    expect((await ask(superuser, OF_SUPERUSER)).length).toBeGreaterThan(30);
  });

  /** All rows are there, and the services can store, and make and drop days. */
  async function isServed(): Promise<void> {
    expect(await ask(await superuserUrl(), OF_SUPERUSER)).toEqual([]);
    const cache = await JobCache.connect(server.url);
    try {
      expect(await cache.getJob(jid)).toMatchObject({ jid });
      await cache.saveReturns([returnRow(jid, 'm2', 2)]);
    } finally {
      await cache.close();
    }
    await ask(server.url, "SELECT brine.ensure_day('20261129')");
    await ask(server.url, 'DROP TABLE public.own');
  }

  test('is handed over at the next start, and once', async () => {
    await again();
    await isServed();
    await again();
    expect(await ask(await superuserUrl(), OF_SUPERUSER)).toEqual([]);
  });

  test('is handed over whole after a start that was cut off half-way', async () => {
    await ask(
      await superuserUrl(),
      'CREATE ROLE brine_services',
      'ALTER SCHEMA brine OWNER TO brine_services',
      'ALTER TABLE brine.jobs OWNER TO brine_services',
    );
    await again();
    await isServed();
  });

  test('is read by a command of this release while that release still runs', async () => {
    expect(runningPostgresUrl(dir)).toBe(await superuserUrl());
  });

  test('is taken back by that release, and handed over once more', async () => {
    await again();
    await ask(await superuserUrl(), 'CREATE TABLE brine.of_before (n int)');
    await again();
    expect(await ask(await superuserUrl(), OF_SUPERUSER)).toEqual([]);
  });
});
