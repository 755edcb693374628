import {
  confirmDurable,
  hearLogIns,
  openDurable,
  stepDurable,
  type DurableAction,
  type DurableFacts,
  type DurableState,
} from '@brine/job';
import type { Pool, PoolClient } from 'pg';
import { durableStateJson, readDurableState, type StoredDurableState } from './durable-state.ts';
import * as sql from './durable-sql.ts';
import { asJobCacheError } from './errors.ts';
import { select } from './query.ts';
import type { JobRow } from './rows.ts';
import { inTransaction } from './transaction.ts';

/** A published job that is to be sent again to minions that were away. */
export type DurableRow = Pick<
  JobRow,
  'jid' | 'fun' | 'minions' | 'publishedAt' | 'seq' | 'incarnation'
> & {
  readonly requestId: string;
  readonly notAfter: number;
  /** What minions get, less its serial. */
  readonly publication: Uint8Array;
};

/** Something to be sent, and the turn and look under which it is confirmed afterwards. */
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
  /** Empty for a question that needs none of it but its `master_id`. */
  readonly publication: Uint8Array;
}

/** What is to be done now, and how much there is. */
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

/** Clocks of the stream and of ours may differ by as much. */
const CLOCKS_MS = 1_000;
/** Steps of one question that lead to nothing to send. */
const STEPS_MAX = 50;

interface Row {
  readonly jid: string;
  readonly request_id: string;
  readonly seq: number;
  readonly publication: Buffer;
  readonly waiting: string[];
  readonly state: StoredDurableState;
}

/**
 * The durable jobs in PostgreSQL: one row each, taken by whoever asks first. A step is one
 * transaction, so any number of processes may ask and confirm, and any of them may die.
 */
export class DurableJobs {
  readonly #pool: Pool;
  readonly #now: () => number;

  constructor(pool: Pool, now: () => number) {
    this.#pool = pool;
    this.#now = now;
  }

  /** Keeps jobs that were just published; the same ones may be given again. */
  async open(rows: readonly DurableRow[]): Promise<void> {
    for (const row of rows) {
      const { jid, requestId, publishedAt } = row;
      const notAfter = Math.floor(row.notAfter);
      const state = openDurable({ jid, publishedAt, notAfter });
      const values = [jid, requestId, row.seq, Buffer.from(row.publication), [row.fun].flat()];
      await this.#write(sql.OPEN, [
        ...values,
        row.minions,
        publishedAt,
        notAfter,
        durableStateJson(state),
        state.dueAt,
      ]);
    }
  }

  /**
   * Takes the next thing to be sent. Until it is confirmed nobody else gets it, for a minute.
   * `heard` are log-ins (id → unix ms) that were seen since the last question; `probe` is a fresh
   * jid. Throws JobCacheError.
   */
  async take(
    heard: ReadonlyMap<string, number>,
    probe: string,
    now = this.#now(),
  ): Promise<DurableWork> {
    if (heard.size > 0) await this.#hear(heard);
    let task: DurableTask | undefined;
    for (let steps = 0; steps < STEPS_MAX && task === undefined; steps += 1) {
      const step = await inTransaction(this.#pool, (client) => this.#step(client, probe, now));
      if (step === undefined) break;
      task = step.task;
    }
    return { task, open: (await this.countOpen()).open };
  }

  /** How many are open, and for how many minions they wait together. */
  async countOpen(): Promise<{ readonly open: number; readonly waiting: number }> {
    const [row] = await select<{ open: number; waiting: number }>(this.#pool, sql.COUNT, []);
    return row ?? { open: 0, waiting: 0 };
  }

  /** What was taken is in the stream now. A second time it changes nothing. */
  async confirm(
    done: Pick<DurableTask, 'jid' | 'requestId' | 'turn' | 'look'>,
    now = this.#now(),
  ): Promise<void> {
    await inTransaction(this.#pool, async (client) => {
      const { rows } = await client.query<Row>(sql.LOCK_ONE, [done.jid, done.requestId]);
      const [row] = rows;
      if (row === undefined) return;
      const state = readDurableState(row.state);
      if (state.turn !== done.turn || state.look !== done.look) return;
      if (state.sending.length > 0) {
        const detail = JSON.stringify({ turn: state.turn });
        await client.query(sql.SIGHT, [row.jid, state.sending, 'sent_again', now, detail]);
      }
      await keep(client, row, confirmDurable(state, now), row.waiting);
    });
  }

  /** The open ones, oldest first. */
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

  /** Log-ins of minions that open jobs wait for. */
  async #hear(heard: ReadonlyMap<string, number>): Promise<void> {
    const found = await select<{ jid: string; request_id: string; ids: string[] }>(
      this.#pool,
      sql.HEARD,
      [[...heard.keys()]],
    );
    for (const { jid, request_id, ids } of found) {
      const logIns = new Map(ids.map((id) => [id, heard.get(id) ?? 0]));
      await inTransaction(this.#pool, async (client) => {
        const { rows } = await client.query<Row>(sql.LOCK_ONE, [jid, request_id]);
        const [row] = rows;
        if (row === undefined) return;
        await keep(client, row, hearLogIns(readDurableState(row.state), logIns), row.waiting);
      });
    }
  }

  async #step(
    client: PoolClient,
    probe: string,
    now: number,
  ): Promise<{ readonly task: DurableTask | undefined } | undefined> {
    const { rows } = await client.query<Row>(sql.LOCK_DUE, [now]);
    const [row] = rows;
    if (row === undefined) return undefined;
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

  async #write(text: string, values: readonly unknown[]): Promise<void> {
    try {
      await this.#pool.query(text, [...values]);
    } catch (error) {
      throw asJobCacheError(error);
    }
  }
}

interface ListRow {
  readonly published_at: number;
  readonly not_after: number;
  readonly sent_again: number;
}

interface AnswerRow {
  readonly id: string;
  readonly running: boolean;
  readonly at: number;
}

async function factsOf(client: PoolClient, row: Row, state: DurableState): Promise<DurableFacts> {
  const waiting = await client.query<{ id: string }>(sql.WAITING, [row.jid, row.waiting]);
  const since = state.lastStartedAt - CLOCKS_MS;
  const answered = await client.query<AnswerRow>(sql.ANSWERS, [row.jid, since, state.probe]);
  const sent = await client.query<{ id: string; count: number; last_at: number }>(sql.SENT, [
    row.jid,
  ]);
  const times = new Map(
    sent.rows.map(({ id, count, last_at }) => [id, { count, lastAt: last_at }]),
  );
  const answers = new Map<string, boolean>();
  for (const { id, running, at } of answered.rows) {
    const after = running ? state.startedAt - CLOCKS_MS : (times.get(id)?.lastAt ?? 0);
    if (at > after) answers.set(id, running);
  }
  return { waiting: waiting.rows.map(({ id }) => id), answers, sent: times };
}

async function keep(
  client: PoolClient,
  row: Row,
  state: DurableState,
  waiting: readonly string[],
): Promise<void> {
  const { jid, request_id } = row;
  await client.query(sql.KEEP, [jid, request_id, durableStateJson(state), waiting, state.dueAt]);
}

async function close(
  client: PoolClient,
  row: Row,
  state: DurableState,
  waiting: readonly string[],
  now: number,
): Promise<void> {
  const { jid, request_id } = row;
  const json = durableStateJson(state);
  await client.query(sql.CLOSE, [jid, request_id, json, waiting, state.closed, now]);
  if (state.closed === 'expired') {
    const detail = JSON.stringify({ waiting: waiting.length });
    await client.query(sql.SIGHT, [jid, [''], 'expired', now, detail]);
  }
  await client.query(sql.FORGET, [now]);
}
