import type { DurableFacts, DurableState } from '@brine/job/durable';
import type { PoolClient } from 'pg';
import type { JobRow } from '../save/rows.ts';
import * as sql from './durable-sql.ts';

/** A published job that is sent again to minions that were unreachable. */
export type DurableRow = Pick<
  JobRow,
  'jid' | 'fun' | 'minions' | 'publishedAt' | 'seq' | 'incarnation'
> & {
  readonly requestId: string;
  readonly notAfter: number;
  /** The publication as minions get it, less its serial. */
  readonly publication: Uint8Array;
};

/** Largest difference between the clocks of the stream and of this host. */
const CLOCKS_MS = 1_000;

/** A row of `brine.durable` that a transaction has locked. */
export interface LockedDurable {
  readonly jid: string;
  readonly request_id: string;
  readonly seq: number;
  readonly publication: Buffer;
  readonly fun: string[];
  readonly waiting: string[];
  readonly state: StoredDurableState;
}

interface AnswerRow {
  readonly id: string;
  readonly running: boolean;
  readonly at: number;
}

/** Reads the facts about the minions that a row waits for. */
export async function factsOf(
  client: PoolClient,
  row: LockedDurable,
  state: DurableState,
): Promise<DurableFacts> {
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

/** Writes the present state of a job. */
export async function keep(
  client: PoolClient,
  row: LockedDurable,
  state: DurableState,
  waiting: readonly string[],
): Promise<void> {
  const { jid, request_id } = row;
  await client.query(sql.KEEP, [jid, request_id, durableStateJson(state), waiting, state.dueAt]);
}

/** Closes a job that waits for no minion any more, or whose time is over. */
export async function close(
  client: PoolClient,
  row: LockedDurable,
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

/** A state as it is kept in `brine.durable.state`. */
export function durableStateJson(state: DurableState): string {
  return JSON.stringify({ ...state, heard: Object.fromEntries(state.heard) });
}

/** Reads what {@link durableStateJson} wrote. */
export function readDurableState(value: StoredDurableState): DurableState {
  return { ...value, heard: new Map(Object.entries(value.heard)) };
}

/** The column `state`, as the driver gives it. */
export type StoredDurableState = Omit<DurableState, 'heard'> & {
  readonly heard: Readonly<Record<string, number>>;
};
