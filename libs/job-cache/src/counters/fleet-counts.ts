import pg from 'pg';
import { asJobCacheError } from '../connection/errors.ts';
import { SEPARATOR } from './count-labels.ts';
import type { CounterName } from './counting.ts';
import type { LastValueName } from './last-values.ts';

/** Key of the advisory lock of the process that reports the numbers; an arbitrary constant. */
const REPORTER_LOCK = 0x6272_6e65;
/** A process that Prometheus has not asked for this long gives up the lock, in ms. */
const IDLE_MS = 180_000;
const CONNECT_TIMEOUT_MS = 1_000;
const STATEMENT_TIMEOUT_MS = 1_500;
/** Rows in quarantine are counted up to here. Operators act long before that. */
const MAX_COUNTED = 10_000;

const READ = `
SELECT 'counter' AS kind, metric, labels, sum(value) AS value FROM brine.counters GROUP BY 2, 3
UNION ALL
SELECT 'last', metric, labels, value FROM brine.last_values
UNION ALL
SELECT 'rows', 'quarantine', '', count(*)
FROM (SELECT FROM brine.quarantine LIMIT ${MAX_COUNTED}) AS found
UNION ALL
SELECT 'rows', 'orphans', '', count(*)
FROM (SELECT FROM brine.orphans LIMIT ${MAX_COUNTED}) AS found`;

/** A number of the whole master. */
export interface FleetCount {
  readonly metric: CounterName | LastValueName | 'quarantine' | 'orphans';
  readonly labels: readonly string[];
  readonly value: number;
}

interface Row {
  readonly kind: string;
  readonly metric: FleetCount['metric'];
  readonly labels: string;
  readonly value: number;
}

/**
 * The numbers of the whole master. One process at a time reports them, so that the sum over
 * processes is right. That process has an advisory lock of PostgreSQL on the connection it reads
 * with. The lock ends with that connection.
 */
export class FleetCounts {
  readonly #url: string;
  #client: pg.Client | undefined;
  #reading: Promise<readonly FleetCount[] | undefined> | undefined;
  #idle: NodeJS.Timeout | undefined;
  #reports = false;
  #closed = false;

  constructor(url: string) {
    this.#url = url;
  }

  /** True while this process reports the numbers. */
  get isReporter(): boolean {
    return this.#reports;
  }

  /**
   * The numbers as they are now; undefined while another process reports them. Calls at the same
   * time share one reading. Throws JobCacheError.
   */
  read(): Promise<readonly FleetCount[] | undefined> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** Gives up the lock, for another process. Idempotent; never rejects. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#reading?.catch(() => undefined); // The caller of `read` handles the error.
    await this.#letGo();
  }

  async #read(): Promise<readonly FleetCount[] | undefined> {
    if (this.#closed) return undefined;
    clearTimeout(this.#idle);
    try {
      this.#client ??= await this.#connect();
      const client = this.#client;
      if (!this.#reports) {
        const locked = await client.query<{ locked: boolean }>(
          'SELECT pg_try_advisory_lock($1) AS locked',
          [REPORTER_LOCK],
        );
        this.#reports = locked.rows[0]?.locked === true;
      }
      if (!this.#reports) return undefined;
      const { rows } = await client.query<Row>({ name: 'fleet-counts', text: READ });
      return rows.map(({ metric, labels, value }) => {
        return { metric, labels: labels.split(SEPARATOR), value: Number(value) };
      });
    } catch (error) {
      await this.#letGo();
      throw asJobCacheError(error);
    } finally {
      this.#idle = setTimeout(() => void this.#letGo(), IDLE_MS);
      this.#idle.unref();
    }
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.#url,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      query_timeout: STATEMENT_TIMEOUT_MS,
      application_name: 'brine metrics',
      keepAlive: true,
    });
    client.on('error', () => void this.#letGo());
    await client.connect();
    // A host that vanished must not keep the lock for the two hours of a default.
    await client.query(
      'SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3',
    );
    return client;
  }

  async #letGo(): Promise<void> {
    clearTimeout(this.#idle);
    const client = this.#client;
    this.#client = undefined;
    this.#reports = false;
    await client?.end().catch(() => undefined); // The connection is closed in either case.
  }
}
