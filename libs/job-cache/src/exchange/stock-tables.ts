import { isJid, type Jid } from '@brine/job';
import type { Pool } from 'pg';
import pg from 'pg';
import { connectionOf } from '../connection/connection.ts';
import { asJobCacheError } from '../connection/errors.ts';
import { select } from '../connection/query.ts';

/** How long a statement may run, in ms: a page of large returns takes seconds. */
const STATEMENT_MS = 120_000;
const JOBS_AT_ONCE = 100;
/** A highstate return is about 100 KB. */
const RETURNS_AT_ONCE = 200;
/** Characters of the column `fun`. */
const FUN_MAX = 50;

/** A job of the tables of pgjsonb. */
export interface TableJob {
  readonly jid: Jid;
  /** JSON, as the server gives it. */
  readonly load: string;
}

/** A job that was read. */
export interface FoundJob extends TableJob {
  /** The minions that returned. */
  readonly returned: readonly string[];
}

/** A return of the tables of pgjsonb. */
export interface TableReturn {
  readonly jid: string;
  readonly id: string;
  readonly fun: string;
  /** JSON, as the server gives it. */
  readonly fullRet: string;
  /** Unix ms. */
  readonly timeMs: number;
}

/** A row of a page of returns; the last three say where the next page begins. */
interface ReturnRecord {
  readonly fun: string;
  readonly full_ret: string;
  readonly ms: number;
  readonly id: string;
  readonly at: string;
  readonly place: string;
}

/**
 * The job cache that a stock master keeps in PostgreSQL (Salt: salt/returners/pgjsonb.py), in a
 * database of its own. Every method throws JobCacheError.
 */
export class StockTables {
  readonly #pool: Pool;

  private constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Connects. Undefined if the database is Brine's, where stock tools see a view. */
  static async connect(url: string): Promise<StockTables | undefined> {
    const pool = new pg.Pool({ ...connectionOf(url, STATEMENT_MS), max: 2 });
    // The next statement fails and reports the fault.
    pool.on('error', () => undefined);
    const found = await select<{ own: boolean }>(
      pool,
      "SELECT to_regclass('brine.jobs') IS NOT NULL AS own",
      [],
    ).catch(async (error: unknown) => {
      await pool.end();
      throw error;
    });
    if (found[0]?.own !== true) return new StockTables(pool);
    await pool.end();
    return undefined;
  }

  /** Closes the connections. */
  close(): Promise<void> {
    return this.#pool.end();
  }

  /**
   * The jobs in the order of their ids, a page at a time.
   * @param after only jobs with a greater id
   */
  async *jobs(after = ''): AsyncGenerator<readonly FoundJob[]> {
    for (let last = after; ;) {
      const rows = await select<{ jid: string; load: string; returned: string[] }>(
        this.#pool,
        `SELECT j.jid, j.load::text AS load,
           ARRAY(SELECT DISTINCT r.id::text FROM salt_returns r WHERE r.jid = j.jid) AS returned
         FROM jids j WHERE j.jid COLLATE "C" > $1
         ORDER BY j.jid COLLATE "C" LIMIT ${JOBS_AT_ONCE}`,
        [last],
      );
      if (rows.length === 0) return;
      yield rows.flatMap(({ jid, load, returned }) =>
        isJid(jid) ? [{ jid, load, returned }] : [],
      );
      last = rows.at(-1)?.jid ?? last;
    }
  }

  /** The returns of a job, a page at a time; of each minion the first comes first. */
  async *returns(jid: string): AsyncGenerator<readonly TableReturn[]> {
    let after: readonly string[] = ['', '-infinity', '(0,0)'];
    for (;;) {
      const rows = await select<ReturnRecord>(
        this.#pool,
        `SELECT fun, full_ret::text AS full_ret, extract(epoch FROM at)::float8 * 1000 AS ms,
           id, at::text AS at, place::text AS place
         FROM (SELECT *, coalesce(alter_time, to_timestamp(0)) AS at, ctid AS place
           FROM salt_returns WHERE jid = $1) AS r
         WHERE (r.id COLLATE "C", r.at, r.place) > ($2, $3::timestamptz, $4::tid)
         ORDER BY r.id COLLATE "C", r.at, r.place LIMIT ${RETURNS_AT_ONCE}`,
        [jid, ...after],
      );
      const last = rows.at(-1);
      if (last === undefined) return;
      yield rows.map(({ id, fun, full_ret: fullRet, ms }) => {
        return { jid, id, fun, fullRet, timeMs: ms };
      });
      if (rows.length < RETURNS_AT_ONCE) return;
      after = [last.id, last.at, last.place];
    }
  }

  /** Writes a job; false if it exists already. */
  async writeJob({ jid, load }: TableJob): Promise<boolean> {
    const text = 'INSERT INTO jids (jid, load) VALUES ($1, $2::jsonb) ON CONFLICT (jid) DO NOTHING';
    return (await this.#write(text, [jid, load])) > 0;
  }

  /** Writes returns of minions that have none in the table; resolves with their number. */
  async writeReturns(jid: string, returns: readonly TableReturn[]): Promise<number> {
    if (returns.length === 0) return 0;
    const rows = returns.map(({ id, fun, fullRet, timeMs }) => {
      const fields = JSON.stringify({ id, fun: fun.slice(0, FUN_MAX), at: timeMs });
      return `${fields.slice(0, -1)},"full_ret":${fullRet}}`;
    });
    return this.#write(
      `INSERT INTO salt_returns (fun, jid, "return", id, success, full_ret, alter_time)
       SELECT i.fun, $1::varchar, coalesce(i.full_ret->'return', 'null'), i.id,
         CASE WHEN i.full_ret->'success' = 'true' THEN 'true' ELSE 'false' END,
         i.full_ret, to_timestamp(i.at / 1000)
       FROM jsonb_to_recordset($2::jsonb) AS i(id text, fun text, at float8, full_ret jsonb)
       WHERE NOT EXISTS (SELECT FROM salt_returns r WHERE r.jid = $1::varchar AND r.id = i.id)`,
      [jid, `[${rows.join(',')}]`],
    );
  }

  /** Resolves with the number of new rows. */
  async #write(text: string, values: readonly string[]): Promise<number> {
    try {
      return (await this.#pool.query(text, [...values])).rowCount ?? 0;
    } catch (error) {
      throw asJobCacheError(error);
    }
  }
}
