import { errorText } from '@brine/tasks';
import { unpackMap } from '@brine/wire';
import type { Pool, PoolClient } from 'pg';
import { inTransaction } from '../connection/connection.ts';
import { isRefused, stateOf } from '../connection/errors.ts';
import { fullLoad, fullRet } from '../save/full-ret.ts';
import {
  ExchangeError,
  type ExchangeKind,
  ExchangeReader,
  type ExchangeRow,
} from './exchange-format.ts';

/** Rows of one statement. */
const MAX_ROWS = 500;
/** Bytes of one statement; a single row may be larger and then goes alone. */
const MAX_BYTES = 8 * 1024 * 1024;
/** SQLSTATE of an ON CONFLICT DO UPDATE that meets a row a second time. */
const CARDINALITY_VIOLATION = '21000';
/** Most days with partitions that imports make; rows of further days go to DEFAULT. */
const MAX_DAYS = 1_500;

/** The result of an import: lines by outcome. */
export interface ImportCounts {
  readonly jobs: number;
  readonly returns: number;
  readonly evidence: number;
  readonly sightings: number;
  /** Rows that existed already. */
  readonly known: number;
}

const JOB_COLUMNS = `jid, load, load_raw, principal, "user", fun, tgt, tgt_type, minions, missing,
  published_at, deadline_at, deadline_after, not_after, hidden, origin, begun_by, host,
  request_id, incarnation, seq`;

const RETURN_COLUMNS = `jid, id, fun, retcode, success, failed, full_ret, raw, received_at,
  incarnation, seq, content`;

const RETURN_ROWS = `SELECT jid, id, fun, retcode, success, failed, full_ret,
  decode(raw, 'base64'), received_at, incarnation, seq, content
FROM jsonb_to_recordset($1::jsonb) AS i(jid text, id text, fun text, retcode integer,
  success boolean, failed boolean, full_ret jsonb, raw text, received_at timestamptz,
  incarnation text, seq bigint, content uuid)`;

/** Existing rows stay; only a job that was not published gives way to a publication. */
const INSERT_JOBS = `
INSERT INTO brine.jobs AS j (${JOB_COLUMNS})
SELECT jid, load, decode(load_raw, 'base64'), principal, "user", fun, tgt, tgt_type, minions,
  missing, published_at, deadline_at, deadline_after, not_after, hidden, origin, begun_by, host,
  request_id, incarnation, seq
FROM jsonb_to_recordset($1::jsonb) AS i(jid text, load jsonb, load_raw text, principal text,
  "user" text, fun text[], tgt text[], tgt_type text, minions text[], missing text[],
  published_at timestamptz, deadline_at timestamptz, deadline_after interval,
  not_after timestamptz, hidden boolean, origin smallint, begun_by text, host text, request_id text,
  incarnation text, seq bigint)
ON CONFLICT (jid) DO UPDATE SET (${JOB_COLUMNS}) = ROW (excluded.jid, excluded.load,
  excluded.load_raw, excluded.principal, excluded."user", excluded.fun, excluded.tgt,
  excluded.tgt_type, excluded.minions, excluded.missing, excluded.published_at,
  excluded.deadline_at, excluded.deadline_after, excluded.not_after, excluded.hidden,
  excluded.origin, excluded.begun_by, excluded.host, excluded.request_id, excluded.incarnation,
  excluded.seq)
WHERE excluded.origin < j.origin`;

/** A return that differs from the counted one of the same minion is evidence. */
const INSERT_RETURNS = `
WITH input AS (${RETURN_ROWS}), fresh AS (
  INSERT INTO brine.returns (${RETURN_COLUMNS}) SELECT * FROM input
  ON CONFLICT (jid, id) DO NOTHING RETURNING jid, id
), other AS (
  INSERT INTO brine.evidence (${RETURN_COLUMNS})
  SELECT i.* FROM input i JOIN brine.returns r ON r.jid = i.jid AND r.id = i.id
  WHERE r.content <> i.content
  ON CONFLICT (jid, id, content) DO NOTHING RETURNING jid
)
SELECT (SELECT count(*) FROM fresh)::integer AS stored`;

const INSERT_EVIDENCE = `
INSERT INTO brine.evidence (${RETURN_COLUMNS})
SELECT i.* FROM (${RETURN_ROWS}) AS i
WHERE NOT EXISTS (
  SELECT FROM brine.returns r WHERE r.jid = i.jid AND r.id = i.id AND r.content = i.content)
ON CONFLICT (jid, id, content) DO NOTHING`;

const INSERT_SIGHTINGS = `
INSERT INTO brine.sightings AS s (jid, id, kind, first_at, last_at, count, detail)
SELECT jid, id, seen, first_at, last_at, count, detail
FROM jsonb_to_recordset($1::jsonb) AS i(jid text, id text, seen text, first_at timestamptz,
  last_at timestamptz, count integer, detail jsonb)
ON CONFLICT (jid, id, kind) DO UPDATE SET first_at = least(s.first_at, excluded.first_at),
  last_at = greatest(s.last_at, excluded.last_at), count = greatest(s.count, excluded.count),
  detail = CASE WHEN excluded.last_at > s.last_at THEN excluded.detail ELSE s.detail END
WHERE (excluded.first_at, excluded.last_at) <> (s.first_at, s.last_at)`;

const ENSURE_DAY = `
SELECT brine.ensure_day($1) WHERE ${MAX_DAYS} >
  (SELECT count(*) FROM pg_inherits WHERE inhparent = 'brine.jobs'::regclass)`;

const STATEMENTS: Readonly<Record<ExchangeKind, string>> = {
  job: INSERT_JOBS,
  return: INSERT_RETURNS,
  evidence: INSERT_EVIDENCE,
  sighting: INSERT_SIGHTINGS,
};

/**
 * Imports a file of `jobs.export`, all of it or nothing. Existing rows stay, so the same file may
 * come again. A large file comes in parts, each a file of its own. Errors count their lines from
 * `linesBefore`, the lines of earlier parts.
 *
 * Throws ExchangeError for a bad file, else JobCacheError (retryable in outages).
 */
export async function importRows(pool: Pool, file: string, linesBefore = 0): Promise<ImportCounts> {
  let refused: ExchangeError | undefined;
  try {
    return await inTransaction(pool, async (client) => {
      try {
        const rows = new RowImport(client, linesBefore);
        for (const line of file.replace(/\n$/, '').split('\n')) await rows.take(line);
        return await rows.finish();
      } catch (error) {
        if (error instanceof ExchangeError) refused = error;
        throw error;
      }
    });
  } catch (error) {
    throw refused ?? error;
  }
}

/** The rows of one file, within a transaction. */
class RowImport {
  readonly #client: PoolClient;
  readonly #linesBefore: number;
  readonly #reader = new ExchangeReader();
  readonly #days = new Set<string>();
  readonly #stored: Record<ExchangeKind, number> = { job: 0, return: 0, evidence: 0, sighting: 0 };
  #rows = 0;
  #batch: string[] = [];
  #kind: ExchangeKind = 'job';
  #bytes = 0;
  /** The line of the first row of the batch. */
  #from = 0;

  constructor(client: PoolClient, linesBefore: number) {
    this.#client = client;
    this.#linesBefore = linesBefore;
  }

  async take(line: string): Promise<void> {
    const row = this.#reader.read(line);
    if (row === undefined) return;
    const text = this.#textOf(row, line);
    const isFull = this.#batch.length >= MAX_ROWS || this.#bytes + text.length > MAX_BYTES;
    if (row.kind !== this.#kind || isFull) await this.#flush();
    await this.#ensureDay(row.jid);
    this.#kind = row.kind;
    if (this.#batch.length === 0) this.#from = this.#reader.lines;
    this.#batch.push(text);
    this.#bytes += text.length;
    this.#rows += 1;
  }

  /** Writes the rest. @throws ExchangeError where the file was cut */
  async finish(): Promise<ImportCounts> {
    this.#reader.finish();
    await this.#flush();
    const { job: jobs, return: returns, evidence, sighting: sightings } = this.#stored;
    const known = this.#rows - jobs - returns - evidence - sightings;
    return { jobs, returns, evidence, sightings, known };
  }

  async #flush(): Promise<void> {
    if (this.#batch.length === 0) return;
    const json = `[${this.#batch.join(',')}]`;
    this.#batch = [];
    this.#bytes = 0;
    try {
      const result = await this.#client.query<{ stored: number }>(STATEMENTS[this.#kind], [json]);
      this.#stored[this.#kind] += result.rows[0]?.stored ?? result.rowCount ?? 0;
    } catch (error) {
      const isTwice = stateOf(error) === CARDINALITY_VIOLATION;
      if (!isTwice && !isRefused(error)) throw error;
      const what = isTwice ? 'the same row twice' : errorText(error);
      throw this.#fault(this.#from, `in the ${this.#kind} lines from here on: ${what}`);
    }
  }

  #textOf(row: ExchangeRow, line: string): string {
    try {
      return rowText(row, line);
    } catch (error) {
      throw this.#fault(this.#reader.lines, errorText(error));
    }
  }

  #fault(line: number, text: string): ExchangeError {
    return new ExchangeError(this.#linesBefore + line, text);
  }

  /** Old days get partitions too, so that retention can drop them by day. */
  async #ensureDay(jid: string): Promise<void> {
    const day = /^\d{20}(?:_|$)/.test(jid) ? jid.slice(0, 8) : undefined;
    if (day === undefined || this.#days.has(day)) return;
    this.#days.add(day);
    const text = `${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6)}`;
    const date = new Date(`${text}T00:00:00Z`);
    // 20261131 is no day: Date would read it as another one.
    if (Number.isNaN(date.getTime()) || !date.toISOString().startsWith(text)) return;
    await this.#client.query(ENSURE_DAY, [day]);
  }
}

/**
 * A row as JSON for its statement. The JSON of its content is passed on unchanged, digit for digit,
 * or made from its bytes.
 */
function rowText({ kind, fields }: ExchangeRow, line: string): string {
  const name = kind === 'job' ? 'load' : 'full_ret';
  const encoded = fields[kind === 'job' ? 'load_raw' : 'raw'];
  if (typeof encoded !== 'string' || fields[name] !== null) return line;
  const { [name]: _made, ...rest } = fields;
  const raw = Buffer.from(encoded, 'base64');
  const load = unpackMap(raw);
  const json = kind === 'job' ? fullLoad(load, raw) : fullRet(load, raw);
  return `${JSON.stringify(rest).slice(0, -1)},"${name}":${json}}`;
}
