import { isMinionId } from '@brine/job';
import {
  confirmDurable,
  type DurableAction,
  noteLogIns,
  openDurable,
  stepDurable,
} from '@brine/job/durable';
import type { Pool, PoolClient } from 'pg';
import { inTransaction } from '../connection/connection.ts';
import { asJobCacheError, isRefused } from '../connection/errors.ts';
import { select } from '../connection/query.ts';
import { quarantine } from '../save/quarantine.ts';
import { refusalOfDurable } from '../save/quarantine-forms.ts';
import type { RefusedRow } from '../save/rows.ts';
import {
  close,
  type DurableRow,
  durableStateJson,
  factsOf,
  keep,
  type LockedDurable,
  readDurableState,
} from './durable-row.ts';
import * as sql from './durable-sql.ts';

/** A message to send, and the turn and look under which it is confirmed afterwards. */
export interface DurableTask {
  readonly jid: string;
  readonly requestId: string;
  readonly turn: number;
  readonly look: number;
  readonly action: DurableAction;
  /** The jid of the question. */
  readonly probe: string;
  readonly seq: number;
  readonly notAfter: number;
  /** Empty for a question that needs only its `master_id`. */
  readonly publication: Uint8Array;
}

/** The next action, and the number of open jobs and waiting minions. */
export interface DurableWork {
  readonly task: DurableTask | undefined;
  readonly open: number;
}

/** An open durable job. Times are unix milliseconds. */
export interface OpenDurable {
  readonly jid: string;
  readonly fun: readonly string[];
  readonly targeted: number;
  readonly waiting: number;
  readonly publishedAt: number;
  readonly notAfter: number;
  readonly turns: number;
  /** Minions that were sent it again at least once. */
  readonly sentAgain: number;
}

/** Steps of one call that find nothing to send. */
const STEPS_MAX = 50;

/**
 * The durable jobs in PostgreSQL, one row each. The publisher that asks first takes a row. A step
 * is one transaction: any number of processes may ask and confirm, and each may die at any time.
 */
export class DurableJobs {
  readonly #pool: Pool;
  readonly #now: () => number;

  constructor(pool: Pool, now: () => number) {
    this.#pool = pool;
    this.#now = now;
  }

  /**
   * Stores jobs that were just published; a repeated call changes nothing. Resolves with the rows
   * that PostgreSQL refused, which are in quarantine. Throws JobCacheError for outages.
   */
  async open(rows: readonly DurableRow[]): Promise<readonly RefusedRow[]> {
    const refused: RefusedRow[] = [];
    for (const row of rows) {
      try {
        await this.#open(row);
      } catch (error) {
        if (!isRefused(error)) throw asJobCacheError(error);
        refused.push(await quarantine(this.#pool, refusalOfDurable(row), error));
      }
    }
    return refused;
  }

  /**
   * Takes the next message to send. No other caller gets it for a minute, or until it is confirmed.
   * Throws JobCacheError.
   * @param loggedIn log-ins (id → unix ms) since the last call
   * @param probe a fresh jid
   */
  async take(
    loggedIn: ReadonlyMap<string, number>,
    probe: string,
    now = this.#now(),
  ): Promise<DurableWork> {
    if (loggedIn.size > 0) await this.#keepReturn(loggedIn);
    let task: DurableTask | undefined;
    for (let steps = 0; steps < STEPS_MAX && task === undefined; steps += 1) {
      const step = await this.#onRow((client, onLocked) =>
        this.#step(client, onLocked, probe, now),
      );
      if (step === undefined) break;
      task = 'task' in step ? step.task : undefined;
    }
    return { task, open: (await this.countOpen()).open };
  }

  /** Counts the open jobs, and the minions that they wait for together. */
  async countOpen(): Promise<{ readonly open: number; readonly waiting: number }> {
    const [row] = await select<{ open: number; waiting: number }>(this.#pool, sql.COUNT, []);
    return row ?? { open: 0, waiting: 0 };
  }

  /** Confirms that the taken message is in the stream. Idempotent. */
  async confirm(
    done: Pick<DurableTask, 'jid' | 'requestId' | 'turn' | 'look'>,
    now = this.#now(),
  ): Promise<void> {
    await this.#onRow(async (client, onLocked) => {
      const { rows } = await client.query<LockedDurable>(sql.LOCK_ONE, [done.jid, done.requestId]);
      const [row] = rows;
      if (row === undefined) return {};
      onLocked(row);
      const state = readDurableState(row.state);
      if (state.turn !== done.turn || state.look !== done.look) return {};
      if (state.sending.length > 0) {
        const detail = JSON.stringify({ turn: state.turn });
        await client.query(sql.SIGHT, [row.jid, state.sending, 'sent_again', now, detail]);
      }
      await keep(client, row, confirmDurable(state, now), row.waiting);
      return {};
    });
  }

  /** The open jobs, oldest first. */
  async list(): Promise<readonly OpenDurable[]> {
    const rows = await select<
      Omit<OpenDurable, 'publishedAt' | 'notAfter' | 'sentAgain'> & ListRow
    >(this.#pool, sql.LIST, []);
    return rows.map(({ published_at, not_after, sent_again, ...row }) => ({
      ...row,
      publishedAt: Math.round(published_at),
      notAfter: Math.round(not_after),
      sentAgain: sent_again,
    }));
  }

  async #open(row: DurableRow): Promise<void> {
    const { jid, requestId, publishedAt } = row;
    const notAfter = Math.floor(row.notAfter);
    const state = openDurable({ jid, publishedAt, notAfter });
    const values = [jid, requestId, row.seq, Buffer.from(row.publication), [row.fun].flat()];
    await this.#pool.query(sql.OPEN, [
      ...values,
      row.minions,
      publishedAt,
      notAfter,
      durableStateJson(state),
      state.dueAt,
    ]);
  }

  /** Stores log-ins of minions that open jobs wait for. */
  async #keepReturn(loggedIn: ReadonlyMap<string, number>): Promise<void> {
    const found = await select<{ jid: string; request_id: string; ids: string[] }>(
      this.#pool,
      sql.LOG_INS,
      [[...loggedIn.keys()].filter(isMinionId)],
    );
    for (const { jid, request_id, ids } of found) {
      const logIns = new Map(ids.map((id) => [id, loggedIn.get(id) ?? 0]));
      await this.#onRow(async (client, onLocked) => {
        const { rows } = await client.query<LockedDurable>(sql.LOCK_ONE, [jid, request_id]);
        const [row] = rows;
        if (row === undefined) return {};
        onLocked(row);
        await keep(client, row, noteLogIns(readDurableState(row.state), logIns), row.waiting);
        return {};
      });
    }
  }

  /**
   * Does a step of one row in a transaction. A row that would fail at every try goes to quarantine.
   * Otherwise all rows that are due later would wait behind it.
   */
  async #onRow<T extends object | undefined>(
    work: (client: PoolClient, onLocked: (row: LockedDurable) => void) => Promise<T>,
  ): Promise<T | Record<string, never>> {
    let locked: LockedDurable | undefined;
    try {
      return await inTransaction(this.#pool, (client) => work(client, (row) => (locked = row)));
    } catch (error) {
      if (locked === undefined || !isRefused(error)) throw error;
      const { jid, request_id: requestId, seq, publication, fun, waiting: minions, state } = locked;
      const { publishedAt = NaN, notAfter = NaN } = state;
      const row = { jid, requestId, seq, publication, fun, minions, publishedAt, notAfter };
      // A jid may be published in several pieces, and this row has no position in the stream.
      const refusal = refusalOfDurable({ ...row, incarnation: `durable ${jid} ${requestId}` });
      await quarantine(this.#pool, refusal, error);
      await this.#pool.query(sql.TAKE_OUT, [jid, requestId]).catch((failure: unknown) => {
        throw asJobCacheError(failure);
      });
      return {};
    }
  }

  async #step(
    client: PoolClient,
    onLocked: (row: LockedDurable) => void,
    probe: string,
    now: number,
  ): Promise<{ readonly task: DurableTask | undefined } | undefined> {
    const { rows } = await client.query<LockedDurable>(sql.LOCK_DUE, [now]);
    const [row] = rows;
    if (row === undefined) return undefined;
    onLocked(row);
    const before = readDurableState(row.state);
    const facts = await factsOf(client, row, before);
    const { state, action } = stepDurable(before, facts, now, probe);
    if (state.closed !== undefined) {
      await close(client, row, state, facts.waiting, now);
      return { task: undefined };
    }
    await keep(client, row, state, facts.waiting);
    if (action === undefined) return { task: undefined };
    const { jid, request_id: requestId, seq, publication } = row;
    const { turn, look, notAfter } = state;
    const at = { jid, requestId, turn, look, probe: state.probe };
    return { task: { ...at, action, seq, notAfter, publication } };
  }
}

interface ListRow {
  readonly published_at: number;
  readonly not_after: number;
  readonly sent_again: number;
}
