import type { Job } from '@brine/job';
import type { SaltMap } from '@brine/wire';
import type { Pool } from 'pg';
import { select } from '../connection/query.ts';
import { type LoadColumns, readLoad } from './get-load.ts';

/**
 * The state of a minion in a job, as `brine.ledger_state` judges it (000004.sql). `late` goes
 * before `failed`: a late return is late whatever its retcode. Each targeted minion is in exactly
 * one state; `waiting` ends with the deadline.
 */
export type ReturnState = 'waiting' | 'returned' | 'failed' | 'late' | 'never';

/** The number of minions in each state; targeted includes the unexpected ones. */
export type Ledger = Readonly<Record<ReturnState, number>> & {
  readonly targeted: number;
  /** Minions that returned without being targets; the states count them too. */
  readonly unexpected: number;
  /** Different returns kept beside the counted ones; always 0 from `getLedger`. */
  readonly evidence: number;
};

/** The source of a job: a publication, the view `jids`, a syndic, or a return alone. */
export type JobOrigin = 'publication' | 'pgjsonb' | 'syndic' | 'return';

/** The fields of a job that its row keeps unchanged. */
type KeptFields =
  | ('jid' | 'principal' | 'user' | 'tgtType' | 'minions' | 'missing' | 'publishedAt')
  | ('hidden' | 'host' | 'requestId');

/** A job from its row, with its ledger. */
export interface JobWithLedger extends Pick<Job, KeptFields> {
  readonly load: SaltMap;
  readonly fun: readonly string[];
  readonly tgt: readonly string[];
  readonly deadlineAt: number | undefined;
  readonly origin: JobOrigin;
  readonly incarnation: string;
  readonly seq: number;
  readonly ledger: Ledger;
  /** The state of each minion, where it was asked for. */
  readonly states: ReadonlyMap<string, ReturnState> | undefined;
}

const JOB = `
SELECT jid, load_raw AS raw, CASE WHEN load_raw IS NULL THEN load::text END AS json, principal,
  "user", fun, tgt, tgt_type, minions, missing, hidden, origin, host, request_id, incarnation,
  seq::float8 AS seq, extract(epoch FROM published_at)::float8 * 1000 AS published_at,
  extract(epoch FROM deadline_at)::float8 * 1000 AS deadline_at,
  (SELECT count(*)::integer FROM brine.evidence e WHERE e.jid = j.jid) AS evidence
FROM brine.jobs j WHERE jid = $1`;

const STATES = `
SELECT state, count(*)::integer AS count,
  (count(*) FILTER (WHERE unexpected))::integer AS unexpected,
  CASE WHEN $2::boolean THEN array_agg(id ORDER BY id) ELSE '{}' END AS ids
FROM brine.ledger WHERE jid = $1 GROUP BY state`;

interface JobColumns extends LoadColumns {
  readonly jid: string;
  readonly principal: string;
  readonly user: string;
  readonly fun: string[];
  readonly tgt: string[];
  readonly tgt_type: string;
  readonly minions: string[];
  readonly missing: string[];
  readonly hidden: boolean;
  readonly origin: number;
  readonly host: string;
  readonly request_id: string;
  readonly incarnation: string;
  readonly seq: number;
  readonly published_at: number;
  readonly deadline_at: number | null;
  readonly evidence: number;
}

interface StateColumns {
  readonly state: ReturnState;
  readonly count: number;
  readonly unexpected: number;
  readonly ids: readonly string[];
}

/** The whole row of a job with its ledger; undefined for an unknown jid. */
export async function getJob(
  pool: Pool,
  jid: string,
  options: { readonly states?: boolean } = {},
): Promise<JobWithLedger | undefined> {
  const [row] = await select<JobColumns>(pool, JOB, [jid]);
  if (row === undefined) return undefined;
  const found = await select<StateColumns>(pool, STATES, [jid, options.states ?? false]);
  return {
    jid: row.jid,
    load: readLoad(row),
    principal: row.principal,
    user: row.user,
    fun: row.fun,
    tgt: row.tgt,
    tgtType: row.tgt_type,
    minions: row.minions,
    missing: row.missing,
    publishedAt: Math.round(row.published_at),
    deadlineAt: row.deadline_at === null ? undefined : Math.round(row.deadline_at),
    hidden: row.hidden,
    origin: originOf(row),
    host: row.host,
    requestId: row.request_id,
    incarnation: row.incarnation,
    seq: row.seq,
    ledger: ledgerOf(found, row.evidence),
    states: options.states === true ? statesOf(found) : undefined,
  };
}

/** The ledger without the job's row: clients poll it. */
export async function getLedger(pool: Pool, jid: string): Promise<Ledger> {
  const found = await select<StateColumns>(pool, STATES, [jid, false]);
  return ledgerOf(found, 0);
}

/** The source of a job, from its row. */
export function originOf({
  origin,
  incarnation,
}: Pick<JobColumns, 'origin' | 'incarnation'>): JobOrigin {
  if (origin === 0) return 'publication';
  if (origin === 2) return 'return';
  // Rows that come by the view have no position in a stream.
  return incarnation === '' ? 'pgjsonb' : 'syndic';
}

/** The ledger of the states of a job. */
export function ledgerOf(found: readonly Omit<StateColumns, 'ids'>[], evidence: number): Ledger {
  const count = (state: ReturnState): number => found.find((f) => f.state === state)?.count ?? 0;
  return {
    targeted: found.reduce((sum, f) => sum + f.count, 0),
    waiting: count('waiting'),
    returned: count('returned'),
    failed: count('failed'),
    late: count('late'),
    never: count('never'),
    unexpected: found.reduce((sum, f) => sum + f.unexpected, 0),
    evidence,
  };
}

function statesOf(found: readonly StateColumns[]): ReadonlyMap<string, ReturnState> {
  return new Map(found.flatMap(({ state, ids }) => ids.map((id) => [id, state] as const)));
}
