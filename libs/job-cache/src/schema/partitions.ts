import type { Pool } from 'pg';
import { asJobCacheError, isRefused } from '../connection/errors.ts';

/** Days that get their partitions before they begin. */
const DAYS_AHEAD = 7;
/** Days in the past that get a partition if a row needs it. */
const DAYS_BEHIND = 7;
const DAY_MS = 86_400_000;

/** The day of a jid as its partition is named (`20261120`); undefined for an odd jid. */
function dayOf(jid: string): string | undefined {
  return /^\d{20}(_|$)/.test(jid) ? jid.slice(0, 8) : undefined;
}

function dayText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10).replaceAll('-', '');
}

/**
 * Keeps the daily partitions ahead of the clock. A client chooses its jid freely, so only days near
 * today get partitions; rows of other days, and of odd jids, go to DEFAULT.
 */
export class Partitions {
  readonly #pool: Pool;
  readonly #ready = new Set<string>();
  /**
   * Days that PostgreSQL refused to make. Their rows go to DEFAULT, and move once the day is made.
   */
  readonly #refused = new Set<string>();

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Makes the partitions from yesterday to a week ahead. Throws JobCacheError. */
  async ensureAhead(nowMs: number): Promise<void> {
    this.#refused.clear();
    for (let day = -1; day <= DAYS_AHEAD; day += 1)
      await this.#ensure(dayText(nowMs + day * DAY_MS));
  }

  /** Makes the partitions that a batch needs. Throws JobCacheError for outages. */
  async ensureFor(rows: Iterable<{ readonly jid: string }>, nowMs: number): Promise<void> {
    for (const { jid } of rows) {
      const day = dayOf(jid);
      if (day === undefined || this.#ready.has(day) || this.#refused.has(day)) continue;
      const startMs = Date.UTC(+day.slice(0, 4), +day.slice(4, 6) - 1, +day.slice(6));
      const isNear =
        startMs > nowMs - DAYS_BEHIND * DAY_MS && startMs < nowMs + DAYS_AHEAD * DAY_MS;
      // A day such as 20261131 has no partition of its own: its text names another date.
      if (isNear && dayText(startMs) === day) await this.#ensureIfTaken(day);
    }
  }

  async #ensureIfTaken(day: string): Promise<void> {
    try {
      await this.#ensure(day);
    } catch (error) {
      if (!isRefused(error)) throw error;
      this.#refused.add(day);
    }
  }

  async #ensure(day: string): Promise<void> {
    if (this.#ready.has(day)) return;
    try {
      await this.#pool.query('SELECT brine.ensure_day($1)', [day]);
    } catch (error) {
      throw asJobCacheError(error);
    }
    this.#ready.add(day);
  }

  /** Forgets the known partitions: after days were dropped, or the database was replaced. */
  forget(): void {
    this.#ready.clear();
  }
}
