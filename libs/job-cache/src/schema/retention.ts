import type { Pool } from 'pg';
import { inTransaction } from '../connection/connection.ts';

/** How long a drop may wait for readers, in ms, before it gives up until the next time. */
const LOCK_TIMEOUT_MS = 5_000;
const WAIT_SHORTLY = `SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`;
/** Limit for reading through the table of a day, in ms. */
const ATTACH_TIMEOUT_MS = 3_600_000;
/** Log-ins of a minion are dropped this many days after its last one. */
const LOG_IN_DAYS = 30;

/** The default partitions contain odd jids of all days; each table's time of a row. */
const TIMES = [
  ['jobs', 'published_at'],
  ['returns', 'received_at'],
  ['evidence', 'received_at'],
  ['sightings', 'last_at'],
] as const;

/**
 * Deleted returns take their counts along (counts.sql). These are left of days that had no
 * partitions of their own for them, and of jobs that are gone.
 */
const TIDY_COUNTS = [
  `DELETE FROM brine.job_counts_default c WHERE last_at < $1
   AND NOT EXISTS (SELECT FROM brine.jobs j WHERE j.jid = c.jid)
   AND NOT EXISTS (SELECT FROM brine.returns r WHERE r.jid = c.jid)`,
  `DELETE FROM brine.doubts_default d WHERE received_at < $1
   AND NOT EXISTS (SELECT FROM brine.returns r WHERE r.jid = d.jid AND r.id = d.id)`,
];

const FORGET = [
  ...TIMES.map(([table, time]) => `DELETE FROM brine.${table}_default WHERE ${time} < $1`),
  'DELETE FROM public.salt_events WHERE alter_time < $1',
  ...TIDY_COUNTS,
];

const MOVE = [
  ...TIMES.map(([table, time]) => moved(`brine.${table}_default`, time, `brine_archive.${table}`)),
  moved('public.salt_events', 'alter_time', 'brine_archive.salt_events'),
  ...TIDY_COUNTS,
];

function moved(from: string, time: string, to: string): string {
  return `
WITH moved AS (DELETE FROM ${from} WHERE ${time} < $1 RETURNING *)
INSERT INTO ${to} SELECT * FROM moved ON CONFLICT DO NOTHING`;
}

/** What was made of returns for their readers; it can be made again of returns that are there. */
const OF_READERS = ['digests', 'state_lists'].map(
  (table) => `DELETE FROM brine.${table} WHERE jid < $1`,
);

/** Not the quarantine: its rows stay until an operator has looked at them. */
const TIDY = [
  `DELETE FROM brine.log_ins WHERE at[cardinality(at)] < now() - interval '${LOG_IN_DAYS} days'`,
];

/**
 * Drops jobs and returns older than a time. Whole days go with their partitions, so up to a day
 * more is kept; odd jids go row by row. Returns the number of dropped partitions.
 *
 * Throws JobCacheError, retryable while readers lock the tables.
 */
export async function dropOlderThan(pool: Pool, beforeMs: number): Promise<number> {
  return inTransaction(pool, async (client) => {
    await client.query(WAIT_SHORTLY);
    const days = await client.query<Days>('SELECT brine.drop_days($1) AS days', [dayOf(beforeMs)]);
    for (const text of FORGET) await client.query(text, [new Date(beforeMs)]);
    for (const text of OF_READERS) await client.query(text, [dayOf(beforeMs)]);
    for (const text of TIDY) await client.query(text);
    return days.rows[0]?.days ?? 0;
  });
}

/**
 * As {@link dropOlderThan}, but without loss: days become partitions of the tables in the schema
 * brine_archive (Salt's `archive_jobs`). Returns the number of partitions taken out.
 *
 * Attaching reads a table through, so it has a transaction of its own, when no writer uses the
 * table any more. If the process dies in between, the next run attaches the table.
 */
export async function archiveOlderThan(pool: Pool, beforeMs: number): Promise<number> {
  const day = dayOf(beforeMs);
  const taken = await inTransaction(pool, async (client) => {
    await client.query(WAIT_SHORTLY);
    const days = await client.query<Days>('SELECT brine.archive_days($1) AS days', [day]);
    return days.rows[0]?.days ?? 0;
  });
  await inTransaction(pool, async (client) => {
    await client.query(WAIT_SHORTLY);
    await client.query(`SET LOCAL statement_timeout = ${ATTACH_TIMEOUT_MS}`);
    const attach = { text: 'SELECT brine.attach_archived()', query_timeout: ATTACH_TIMEOUT_MS };
    await client.query(attach);
    for (const text of MOVE) await client.query(text, [new Date(beforeMs)]);
    for (const text of OF_READERS) await client.query(text, [day]);
    for (const text of TIDY) await client.query(text);
  });
  return taken;
}

interface Days {
  readonly days: number;
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10).replaceAll('-', '');
}
