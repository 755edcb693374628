import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { storedValues } from '@brine/bus/snapshots';
import { readIfThere } from '@brine/files';
import { runningPostgresUrl } from '@brine/postgres-server';
import pg from 'pg';
import type { BrineMaster } from '../brine/brine-master.ts';
import { connectToOwn } from '../brine/own-bus.ts';
import { endPool } from '../end-pool.ts';

/** The bytes of a sink, by a name like `file cache/jobs/…`, `table brine.jobs.load`. */
export interface SinkContent {
  readonly sink: string;
  readonly bytes: Uint8Array;
}

const run = promisify(execFile);
const NATS_MS = 5_000;
/** A table of a test has some thousand rows; more would not fit into memory at once. */
const ROWS_MAX = 200_000;

/**
 * Every file below a directory, read as it is now, and its name. Sockets have no content.
 * @param left paths below the directory that are not read
 */
export async function* filesBelow(
  dir: string,
  left: (path: string) => boolean = () => false,
): AsyncGenerator<SinkContent> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    const name = relative(dir, path);
    if (left(name)) continue;
    yield { sink: `file name ${name}`, bytes: Buffer.from(name) };
    if (!entry.isFile()) continue;
    // The master continues, so a file may be gone by now.
    const bytes = await readIfThere(path);
    if (bytes !== undefined) yield { sink: `file ${name}`, bytes };
  }
}

/** Every message of every stream and bucket of a master's own NATS, with its headers. */
export async function* streamsOf({ home }: BrineMaster): AsyncGenerator<SinkContent> {
  const bus = await connectToOwn(join(home.cacheDir, 'brine'));
  try {
    const asked = await bus.inbox.request('$JS.API.STREAM.NAMES', '', { timeoutMs: NATS_MS });
    const { streams } = JSON.parse(Buffer.from(asked.data).toString('utf8')) as {
      readonly streams: readonly string[];
    };
    for (const stream of streams) {
      const stored = await storedValues(bus, stream);
      if (stored === undefined) continue; // deleted between the two questions
      for await (const { subject, headers, data } of stored.values) {
        const head = Buffer.from(`${subject}\n${JSON.stringify(headers)}\n`);
        yield { sink: `stream ${stream} ${subject}`, bytes: Buffer.concat([head, data]) };
      }
    }
  } finally {
    await bus.close();
  }
}

/** Every column of every table of a master's own PostgreSQL, all rows of it together. */
export async function* tablesOf({ home }: BrineMaster): AsyncGenerator<SinkContent> {
  const url = runningPostgresUrl(join(home.cacheDir, 'brine', 'postgres'));
  if (url === undefined) throw new Error('the PostgreSQL of the master does not run');
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  try {
    const { rows: columns } = await pool.query<
      Record<'schema' | 'table' | 'name' | 'type', string>
    >(
      `SELECT c.table_schema AS schema, c.table_name AS table, c.column_name AS name,
         c.data_type AS type
       FROM information_schema.columns c JOIN information_schema.tables t
         ON (t.table_schema, t.table_name) = (c.table_schema, c.table_name)
       WHERE t.table_type = 'BASE TABLE'
         AND c.table_schema NOT IN ('pg_catalog', 'information_schema')
       ORDER BY 1, 2, c.ordinal_position`,
    );
    for (const { schema, table, name, type } of columns) {
      const [from, column] = [`${quoted(schema)}.${quoted(table)}`, quoted(name)];
      const read = type === 'bytea' ? column : `${column}::text`;
      const { rows } = await pool.query<{ value: Buffer | string | null }>(
        `SELECT ${read} AS value FROM ${from} LIMIT ${ROWS_MAX + 1}`,
      );
      if (rows.length > ROWS_MAX) throw new Error(`${from} has more rows than can be searched`);
      const parts = rows.flatMap(({ value }) => (value === null ? [] : [Buffer.from(value), NL]));
      yield { sink: `table ${schema}.${table}.${name}`, bytes: Buffer.concat(parts) };
    }
  } finally {
    await endPool(pool);
  }
}

const NL = Buffer.from('\n');

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * Every entry of an archive that a command of the master writes: `support-bundle`, `backup`.
 * @throws Error if the command fails
 */
export async function* archiveOf(
  master: BrineMaster,
  command: 'support-bundle' | 'backup',
): AsyncGenerator<SinkContent> {
  const dir = join(master.sandbox.dir, `searched-${command}`);
  await mkdir(dir);
  try {
    const file = join(dir, 'it.tar.gz');
    const { code, stderr, stdout } = await master.brine(command, [file]);
    if (code !== 0) throw new Error(`${command} ended with ${code}: ${stderr}${stdout}`);
    yield { sink: `${command} as printed`, bytes: Buffer.from(`${stdout}${stderr}`) };
    await run('tar', ['-xzf', file, '-C', dir]);
    await rm(file);
    for await (const { sink, bytes } of filesBelow(dir)) {
      yield { sink: `${command} ${sink.replace(/brine-support-[^/]*\//, '')}`, bytes };
    }
  } finally {
    await rm(dir, { recursive: true });
  }
}

/** Arguments of every process of the master: any user of the host may read them. */
export async function* commandLinesOf(master: BrineMaster): AsyncGenerator<SinkContent> {
  for (const { name, pid } of await master.services()) {
    if (pid === undefined) continue;
    yield { sink: `command line of ${name}`, bytes: await readFile(`/proc/${pid}/cmdline`) };
  }
}

/** The output of `brine status`. */
export async function* statusOf(master: BrineMaster): AsyncGenerator<SinkContent> {
  const { stdout, stderr } = await master.brine('status', ['--out', 'json']);
  yield { sink: 'brine status', bytes: Buffer.from(`${stdout}${stderr}`) };
}
