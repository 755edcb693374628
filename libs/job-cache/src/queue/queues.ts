import { createHash } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import { asJobCacheError, stateOf } from '../connection/errors.ts';
import { select } from '../connection/query.ts';

/** Bounds of queues. */
export const QUEUE_LIMITS = {
  /** Items that wait in one queue. */
  items: 100_000,
  /** Items of one call. */
  call: 1_000,
  /** Bytes of the JSON of one item. */
  itemBytes: 64 * 1024,
  /** Bytes of the names of queues and backends. */
  nameBytes: 255,
} as const;

/** The name of a queue: each backend has its own queues. */
export interface QueueName {
  readonly backend: string;
  readonly queue: string;
}

/** An item to put into a queue. */
export interface QueueItem {
  readonly json: string;
  /** Items with the same text are equal. */
  readonly sameness: string;
}

/** A page of items, and where the next begins. */
export interface QueuePage {
  readonly items: readonly string[];
  readonly next: number | undefined;
}

/** The outcome of a put; `exists`: one of the items waits in the queue already. */
export type PutOutcome = 'stored' | 'exists' | 'full';

/** SQLSTATE unique_violation. */
const EXISTS = '23505';

const LOCK = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))';

const WAS_PUT = 'SELECT 1 FROM brine.queue_items WHERE put_by = $1 LIMIT 1';

const COUNT = `
SELECT count(*)::integer AS count FROM brine.queue_items
WHERE backend = $1 AND queue = $2 AND taken_by IS NULL`;

const PUT = `
INSERT INTO brine.queue_items (backend, queue, item, digest, put_by)
SELECT $1, $2, i.item, i.digest, $5
FROM unnest($3::text[], $4::bytea[]) WITH ORDINALITY AS i(item, digest, n) ORDER BY i.n`;

const DELETE = `
DELETE FROM brine.queue_items
WHERE backend = $1 AND queue = $2 AND taken_by IS NULL AND digest = ANY($3::bytea[])`;

const NAMES = `
SELECT DISTINCT queue FROM brine.queue_items
WHERE backend = $1 AND taken_by IS NULL ORDER BY queue LIMIT $2`;

const ITEMS = `
SELECT n::float8 AS n, item FROM brine.queue_items
WHERE backend = $1 AND queue = $2 AND taken_by IS NULL AND n > $3 ORDER BY n LIMIT $4`;

const TAKEN = 'SELECT item FROM brine.queue_items WHERE taken_by = $1 ORDER BY n';

const TAKE = `
WITH chosen AS (
  SELECT n FROM brine.queue_items
  WHERE backend = $1 AND queue = $2 AND taken_by IS NULL
  ORDER BY n LIMIT $3 FOR UPDATE SKIP LOCKED
), taken AS (
  UPDATE brine.queue_items AS q SET taken_by = $4, taken_at = now()
  FROM chosen WHERE q.n = chosen.n RETURNING q.n, q.item
)
SELECT item FROM taken ORDER BY n`;

/** Taken items are kept for an hour, since a repeated call gets the same items again. */
const FORGET = `
DELETE FROM brine.queue_items
WHERE taken_by IS NOT NULL AND taken_at < now() - interval '1 hour'`;

/** Queues in PostgreSQL. Every call is idempotent. */
export class Queues {
  readonly #pool: Pool;
  readonly #reads: Pool;

  constructor(pool: Pool, reads: Pool) {
    this.#pool = pool;
    this.#reads = reads;
  }

  /**
   * Puts items in, all or none. Throws JobCacheError; RangeError for items or names too large.
   * @param by the id of the call, the same for all its repetitions
   */
  async put(name: QueueName, items: readonly QueueItem[], by: string): Promise<PutOutcome> {
    checkName(name);
    if (items.length > QUEUE_LIMITS.call) {
      throw new RangeError(`one call puts in ${QUEUE_LIMITS.call} items at most`);
    }
    if (items.some(({ json }) => Buffer.byteLength(json) > QUEUE_LIMITS.itemBytes)) {
      throw new RangeError(`an item has at most ${QUEUE_LIMITS.itemBytes} bytes`);
    }
    try {
      return await this.#inTurn(`queue ${by}`, async (client) => {
        if ((await client.query(WAS_PUT, [by])).rowCount !== 0) return 'stored';
        const found = await client.query<{ count: number }>(COUNT, [name.backend, name.queue]);
        if ((found.rows[0]?.count ?? 0) + items.length > QUEUE_LIMITS.items) return 'full';
        const texts = items.map(({ json }) => json);
        const digests = items.map(({ sameness }) => digestOf(sameness));
        await client.query(PUT, [name.backend, name.queue, texts, digests, by]);
        return 'stored';
      });
    } catch (error) {
      if (stateOf(error) === EXISTS) return 'exists';
      throw asJobCacheError(error);
    }
  }

  /** Removes items that wait. Throws JobCacheError. */
  async remove(name: QueueName, items: readonly Pick<QueueItem, 'sameness'>[]): Promise<void> {
    checkName(name);
    const digests = items.slice(0, QUEUE_LIMITS.items).map(({ sameness }) => digestOf(sameness));
    try {
      await this.#pool.query(DELETE, [name.backend, name.queue, digests]);
    } catch (error) {
      throw asJobCacheError(error);
    }
  }

  /** The queues of a backend in which items wait, the first 10,000. Throws JobCacheError. */
  async names(backend: string): Promise<string[]> {
    const rows = await select<{ queue: string }>(this.#reads, NAMES, [backend, 10_000]);
    return rows.map(({ queue }) => queue);
  }

  /** How many items wait. Throws JobCacheError. */
  async length({ backend, queue }: QueueName): Promise<number> {
    const [row] = await select<{ count: number }>(this.#reads, COUNT, [backend, queue]);
    return row?.count ?? 0;
  }

  /** Items that wait, oldest first, JSON each, after a place. Throws JobCacheError. */
  async items({ backend, queue }: QueueName, after: number): Promise<QueuePage> {
    const values = [backend, queue, after, QUEUE_LIMITS.call];
    const rows = await select<{ n: number; item: string }>(this.#reads, ITEMS, values);
    const next = rows.length < QUEUE_LIMITS.call ? undefined : rows.at(-1)?.n;
    return { items: rows.map(({ item }) => item), next };
  }

  /**
   * Takes the oldest items out, up to 1,000, JSON each. Throws JobCacheError.
   * @param by as in {@link put}: a repetition gets the same items
   */
  async take(name: QueueName, quantity: number, by: string): Promise<string[]> {
    checkName(name);
    const most = Math.max(0, Math.min(quantity, QUEUE_LIMITS.call));
    try {
      return await this.#inTurn(`queue ${by}`, async (client) => {
        await client.query(FORGET);
        const before = await client.query<{ item: string }>(TAKEN, [by]);
        const values = [name.backend, name.queue, most, by];
        const { rows } =
          before.rows.length > 0 ? before : await client.query<{ item: string }>(TAKE, values);
        return rows.map(({ item }) => item);
      });
    } catch (error) {
      throw asJobCacheError(error);
    }
  }

  /** Runs a transaction; those of the same name run one after another. */
  async #inTurn<T>(name: string, work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    try {
      await client.query('BEGIN');
      await client.query(LOCK, [name]);
      const result = await work(client);
      await client.query('COMMIT');
      client.release();
      return result;
    } catch (error) {
      // Closing the connection rolls back, whatever state it is in.
      client.release(true);
      throw error;
    }
  }
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function checkName({ backend, queue }: QueueName): void {
  for (const name of [backend, queue]) {
    if (name === '' || Buffer.byteLength(name) > QUEUE_LIMITS.nameBytes || name.includes('\0')) {
      throw new RangeError(`a queue has a name of at most ${QUEUE_LIMITS.nameBytes} bytes`);
    }
  }
}
