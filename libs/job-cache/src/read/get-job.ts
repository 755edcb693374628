import { isJobOrigin, type Job, type StoredOrigin } from '@brine/job';
import type { SaltMap } from '@brine/wire';
import type { Pool } from 'pg';
import { select } from '../connection/query.ts';
import { type LoadColumns, readLoad } from './get-load.ts';
import { getLedger, getStates, type Ledger, type ReturnState } from './ledger.ts';

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
  readonly origin: StoredOrigin;
  readonly incarnation: string;
  readonly seq: number;
  readonly ledger: Ledger;
  /** The state of each minion, where it was asked for. */
  readonly states: ReadonlyMap<string, ReturnState> | undefined;
}

const JOB = `
SELECT jid, load_raw AS raw, CASE WHEN load_raw IS NULL THEN load::text END AS json, principal,
  "user", fun, tgt, tgt_type, minions, missing, hidden, origin, begun_by, host, request_id,
  incarnation, seq::float8 AS seq,
  extract(epoch FROM published_at)::float8 * 1000 AS published_at,
  extract(epoch FROM deadline_at)::float8 * 1000 AS deadline_at,
  (SELECT count(*)::integer FROM brine.evidence e WHERE e.jid = j.jid) AS evidence
FROM brine.jobs j WHERE jid = $1`;

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
  readonly begun_by: string | null;
  readonly host: string;
  readonly request_id: string;
  readonly incarnation: string;
  readonly seq: number;
  readonly published_at: number;
  readonly deadline_at: number | null;
  readonly evidence: number;
}

/** The whole row of a job with its ledger; undefined for an unknown jid. */
export async function getJob(
  pool: Pool,
  jid: string,
  options: { readonly states?: boolean } = {},
): Promise<JobWithLedger | undefined> {
  const [row] = await select<JobColumns>(pool, JOB, [jid]);
  if (row === undefined) return undefined;
  const found =
    options.states === true
      ? await getStates(pool, jid)
      : { ledger: await getLedger(pool, jid), states: undefined };
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
    ledger: { ...found.ledger, evidence: row.evidence },
    states: found.states,
  };
}

/** What began a job, from its row. */
export function originOf({
  origin,
  begun_by: begunBy,
  incarnation,
}: Pick<JobColumns, 'origin' | 'begun_by' | 'incarnation'>): StoredOrigin {
  if (origin === 0) return isJobOrigin(begunBy) ? begunBy : 'publication';
  if (origin === 2) return 'return';
  // Rows that come by the view have no position in a stream.
  return incarnation === '' ? 'pgjsonb' : 'syndic';
}
