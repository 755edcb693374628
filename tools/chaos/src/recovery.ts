import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { quantile } from 'simple-statistics';
import { type Fleet, goodMinions } from './load.ts';

/** Time that the master needed, in ms since the fault, or since the end of a lasting one. */
export interface Recovery {
  /** Until the first job was published, run and acknowledged by all its minions. */
  readonly servedMs: number;
  /** Until all returns of such a job were in PostgreSQL. */
  readonly storedMs: number;
}

/** Number of minions of a probe. */
const PROBED = 5;
/** Growing pauses between probe jobs, so that probes do not keep a slow master slow. */
const PROBES_MS = { first: 250, growth: 1.3, most: 5_000 } as const;
const PROBE_REQUEST_MS = 5_000;
const PROBE_WAIT_MS = 30_000;
/** Maximum of probes in flight. */
const MAX_PROBES = 24;
const POLL_MS = 25;

/** Queries the database without a proxy, through a pool, because connections die with it. */
export class StoredProbes {
  readonly #databaseUrl: () => Promise<string>;
  #known: { readonly url: string; readonly pool: pg.Pool } | undefined;

  /** @param databaseUrl called for each pool: a restart of the master may change it */
  constructor(databaseUrl: () => Promise<string>) {
    this.#databaseUrl = databaseUrl;
  }

  /** Number of stored returns of a job; undefined while the database does not answer. */
  async count(jid: string): Promise<number | undefined> {
    try {
      const text = 'SELECT count(*)::integer AS count FROM brine.returns WHERE jid = $1';
      const { rows } = await (await this.#pool()).query<{ count: number }>(text, [jid]);
      return rows[0]?.count;
    } catch {
      return undefined; // The database is down, as expected now and then.
    }
  }

  /** Jobs of clients that are still open; undefined while the database does not answer. */
  async open(): Promise<number | undefined> {
    try {
      const text = `SELECT count(*)::integer AS count FROM brine.jobs
        WHERE origin = 0 AND deadline_at > now()`;
      const { rows } = await (await this.#pool()).query<{ count: number }>(text);
      return rows[0]?.count;
    } catch {
      return undefined; // As above.
    }
  }

  /** The last jid, '' without jobs; undefined while the database does not answer. */
  async lastJid(): Promise<string | undefined> {
    try {
      const text = "SELECT coalesce(max(jid), '') AS jid FROM brine.jobs";
      const { rows } = await (await this.#pool()).query<{ jid: string }>(text);
      return rows[0]?.jid;
    } catch {
      return undefined; // As above.
    }
  }

  /**
   * Number of minions that are waiting, never returned or failed in later jobs of clients.
   * @throws Error if the master does not answer.
   */
  async unreturned(after: string): Promise<number> {
    const text = `SELECT count(*)::integer AS count
      FROM brine.ledger l JOIN brine.jobs j USING (jid)
      WHERE l.jid > $1 AND NOT j.hidden AND l.state IN ('waiting', 'never', 'failed')`;
    const { rows } = await (await this.#pool()).query<{ count: number }>(text, [after]);
    return rows[0]?.count ?? 0;
  }

  /** Log-ins of each minion with this prefix, as recorded by the master. Throws as above. */
  async logIns(prefix: string): Promise<Readonly<Record<string, number>>> {
    const text = `SELECT id, cardinality(at) AS count FROM brine.log_ins WHERE starts_with(id, $1)`;
    const { rows } = await (
      await this.#pool()
    ).query<{ id: string; count: number }>(text, [prefix]);
    return Object.fromEntries(rows.map(({ id, count }) => [id, count]));
  }

  async close(): Promise<void> {
    await this.#known?.pool.end();
  }

  async #pool(): Promise<pg.Pool> {
    const url = await this.#databaseUrl();
    if (this.#known?.url === url) return this.#known.pool;
    const old = this.#known?.pool;
    const pool = new pg.Pool({
      connectionString: url,
      max: 2,
      connectionTimeoutMillis: 2_000,
      query_timeout: 3_000,
      application_name: 'chaos',
    });
    // Faults are normal here; the next query opens another connection.
    pool.on('error', () => undefined);
    this.#known = { url, pool };
    await old?.end();
    return pool;
  }
}

/** Recovery times over a run, in ms. */
export interface RecoverySpread {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** The distribution of times in ms; undefined without times. */
export function spreadOf(times: readonly number[]): RecoverySpread | undefined {
  if (times.length === 0) return undefined;
  const at = (part: number): number => Math.round(quantile([...times], part));
  return { count: times.length, p50: at(0.5), p99: at(0.99), max: Math.round(Math.max(...times)) };
}

/**
 * Publishes small jobs one after the other until one is complete and stored. Throws Error when the
 * time is up.
 */
export async function untilRecovered(
  fleet: Fleet,
  stored: StoredProbes,
  timeoutMs: number,
): Promise<Recovery> {
  const since = performance.now();
  const passed = (): number => performance.now() - since;
  const complete: { readonly jid: string; readonly count: number }[] = [];
  let flying = 0;
  let nextMs = 0;
  let everyMs: number = PROBES_MS.first;
  let servedMs: number | undefined;
  let last = 'no probe was answered';
  const probe = async (): Promise<void> => {
    const target = goodMinions(fleet, PROBED);
    const result = await fleet.swarm.publish({
      cachedir: fleet.cachedir,
      target,
      waitMs: fleet.below === true ? 0 : PROBE_WAIT_MS,
      requestTimeoutMs: PROBE_REQUEST_MS,
      sends: 3,
    });
    const { jid, targeted, acknowledged, reached } = result;
    last = `job ${jid}: ${targeted} targeted, ${reached} reached, ${acknowledged} acknowledged`;
    if (jid === undefined) return;
    if (fleet.below !== true) {
      if (targeted !== target.length || acknowledged !== targeted) return;
      servedMs ??= passed();
    }
    complete.push({ jid, count: target.length });
  };
  for (;;) {
    if (servedMs === undefined && flying < MAX_PROBES && passed() >= nextMs) {
      nextMs = passed() + everyMs;
      everyMs = Math.min(everyMs * PROBES_MS.growth, PROBES_MS.most);
      flying += 1;
      probe()
        .catch((error: unknown) => (last = (error as Error).message))
        .finally(() => (flying -= 1));
    }
    for (const { jid, count } of complete) {
      if (((await stored.count(jid)) ?? 0) < count) continue;
      // A return that is stored above was also served below.
      return { servedMs: servedMs ?? passed(), storedMs: passed() };
    }
    if (passed() > timeoutMs) {
      const what = servedMs === undefined ? last : `served after ${servedMs} ms, nothing is stored`;
      throw new Error(`no recovery in ${timeoutMs} ms: ${what}`);
    }
    await sleep(POLL_MS);
  }
}
