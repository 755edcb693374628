import type { Pool, PoolClient } from 'pg';
import pg from 'pg';
import { connectionOf, followFaults, inTransaction } from '../connection/connection.ts';
import { asJobCacheError, JobCacheError, stateOf } from '../connection/errors.ts';

/** An event as a row of `salt_events`. */
export interface EventRow {
  readonly tag: string;
  /** JSON. */
  readonly data: string;
  /** When the stream stored it, unix ms. */
  readonly atMs: number;
}

/** Where a table of events is, and what writes there. */
export interface EventTableOptions {
  readonly url: string;
  /** Type of the column `data`: Salt's returner `pgjsonb` has jsonb, `postgres` text. */
  readonly data: 'jsonb' | 'text';
  readonly masterId: string;
  /** The name under which the place is kept. */
  readonly writer: string;
  /** True in Brine's own database, where the table of places is part of the schema. */
  readonly isOwn: boolean;
}

/** The present place in the streams, and the place after the write. */
export interface PlaceMove {
  readonly from: string;
  readonly to: string;
}

/** A statement may run this long, in ms; a batch has 8 MB at most. */
const STATEMENT_MS = 60_000;

/** SQLSTATE insufficient_privilege, duplicate_table and unique_violation. */
const FORBIDDEN = '42501';
const MADE_MEANWHILE = ['42P07', '23505'];

/** In a database that is not Brine's own. */
const FOREIGN_PLACES = 'brine_event_return';
const MAKE_PLACES = `
CREATE TABLE IF NOT EXISTS ${FOREIGN_PLACES} (
  writer text PRIMARY KEY,
  place text NOT NULL,
  moved_at timestamptz NOT NULL DEFAULT now()
)`;

/**
 * Salt's table `salt_events`, with the place that its writer has reached in the streams. Both are
 * written in one transaction, so each event is stored once, even if the writer dies.
 */
export class EventTable {
  readonly #pool: Pool;
  readonly #options: EventTableOptions;
  readonly #places: string;
  #keepsPlace = true;

  /** Connects at the first call. */
  constructor(options: EventTableOptions) {
    this.#options = options;
    this.#places = options.isOwn ? 'brine.event_return' : FOREIGN_PLACES;
    this.#pool = new pg.Pool({ ...connectionOf(options.url, STATEMENT_MS), max: 1 });
    // An idle connection with a fault fails again at its next use.
    followFaults(this.#pool, () => undefined);
  }

  /** False where the user of a foreign database may not make the table of places. */
  get keepsPlace(): boolean {
    return this.#keepsPlace;
  }

  /** The place reached so far; undefined before the first write. Throws JobCacheError. */
  async place(): Promise<string | undefined> {
    try {
      if (!this.#options.isOwn) await this.#makePlaces();
      if (!this.#keepsPlace) return undefined;
      const { rows } = await this.#pool.query<{ place: string }>(
        `SELECT place FROM ${this.#places} WHERE writer = $1`,
        [this.#options.writer],
      );
      return rows[0]?.place;
    } catch (error) {
      throw asJobCacheError(error);
    }
  }

  /**
   * Adds rows in their order, and moves the place with them. Resolves with false, without adding
   * any, if the place is not `from`: another process wrote first. Throws JobCacheError.
   */
  async add(rows: readonly EventRow[], move?: PlaceMove): Promise<boolean> {
    if (rows.length === 0 && (move === undefined || !this.#keepsPlace)) return true;
    return inTransaction(this.#pool, async (client) => {
      // The place comes first: a second writer waits here, and adds nothing.
      if (move !== undefined && this.#keepsPlace && !(await this.#move(client, move))) return false;
      if (rows.length > 0) await this.#insert(client, rows);
      return true;
    });
  }

  close(): Promise<void> {
    return this.#pool.end();
  }

  async #makePlaces(): Promise<void> {
    try {
      await this.#pool.query(MAKE_PLACES);
      this.#keepsPlace = true;
    } catch (error) {
      const state = stateOf(error);
      if (MADE_MEANWHILE.includes(state)) return;
      if (state !== FORBIDDEN) throw error;
      // The owner of the database may have made the table.
      const { rows } = await this.#pool.query<{ there: boolean }>(
        `SELECT to_regclass('${FOREIGN_PLACES}') IS NOT NULL AS there`,
      );
      this.#keepsPlace = rows[0]?.there === true;
    }
  }

  async #move(client: PoolClient, { from, to }: PlaceMove): Promise<boolean> {
    const { writer } = this.#options;
    const moved =
      from === ''
        ? await client.query(
            `INSERT INTO ${this.#places} (writer, place) VALUES ($1, $2)
             ON CONFLICT (writer) DO NOTHING`,
            [writer, to],
          )
        : await client.query(
            `UPDATE ${this.#places} SET place = $2, moved_at = now()
             WHERE writer = $1 AND place = $3`,
            [writer, to, from],
          );
    return moved.rowCount === 1;
  }

  async #insert(client: PoolClient, rows: readonly EventRow[]): Promise<void> {
    const { data, isOwn, masterId } = this.#options;
    const json = rows.map(
      ({ tag, data: body, atMs }) => `{"tag":${JSON.stringify(tag)},"at":${atMs},"data":${body}}`,
    );
    await client.query(
      `INSERT INTO ${isOwn ? 'public.' : ''}salt_events (tag, data, master_id, alter_time)
       SELECT e.one->>'tag', (e.one->'data')::${data}, $2,
         to_timestamp((e.one->>'at')::float8 / 1000)
       FROM json_array_elements($1::json) WITH ORDINALITY AS e(one, n) ORDER BY e.n`,
      [`[${json.join(',')}]`, masterId],
    );
  }
}

/** True if PostgreSQL refuses the content of an event, and would at every try. */
export function isRefusedEvent(error: unknown): boolean {
  // A missing table or right is no fault of an event.
  return error instanceof JobCacheError && error.code === 'SALT_JOBCACHE_REFUSED';
}
