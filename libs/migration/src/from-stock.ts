import { isJid, isMinionId, jidTimeMs } from '@brine/job';
import { eachAtOnce } from '@brine/tasks';
import { pack } from '@brine/wire';
import { withoutCredentials } from '@brine/wire/load';
import type { BrineIntake } from './edge/brine-side.ts';
import type { JobHead, StockHistory } from './edge/stock-side.ts';
import { type ReturnLoad, returnLoad } from './return-loads.ts';
import type { Kind, Tally } from './tally.ts';
import { tokenRecord } from './token-records.ts';

/** Records that are written at once. */
const AT_ONCE = 32;
/** Rows of one transaction of the job cache. */
const PART_ROWS = 1_000;
const PART_BYTES = 8 * 1024 * 1024;

/** PostgreSQL can not parse the text of much later times. */
const TIME_MAX_MS = Date.UTC(9999, 0, 1);

const KIND_OF: Readonly<Record<'grains' | 'pillar' | 'mine', Kind>> = {
  grains: 'grains',
  pillar: 'pillars',
  mine: 'mines',
};

/** Inputs of an import. */
export interface FromStock {
  readonly stock: StockHistory;
  readonly brine: BrineIntake;
  /** Minions with an accepted key; data of others is skipped. */
  readonly accepted: ReadonlySet<string>;
  readonly nowMs: number;
  /** Only data of minions and jobs that changed since, unix ms. */
  readonly sinceMs?: number | undefined;
  readonly tally: Tally;
}

/**
 * Imports a stock master's data into Brine. It can be repeated at any time, also after a kill:
 * existing and newer data stays.
 */
export async function fromStock(moving: FromStock): Promise<void> {
  await takeBanks(moving);
  await takeTokens(moving);
  await takeSessions(moving);
  await takeJobs(moving);
}

async function takeBanks({ stock, brine, accepted, sinceMs, tally }: FromStock): Promise<void> {
  await eachAtOnce(stock.banks(), AT_ONCE, async (record) => {
    if (sinceMs !== undefined && record.timeMs < sinceMs) return;
    const kind = KIND_OF[record.bank];
    if (!accepted.has(record.id)) {
      tally.left(kind, 'data of minions without an accepted key', record.id);
      return;
    }
    try {
      tally.took(kind, await brine.bank(record));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      tally.left(kind, 'data that are too large', error.message);
    }
  });
}

async function takeTokens({ stock, brine, nowMs, tally }: FromStock): Promise<void> {
  for await (const file of stock.tokens()) {
    // Expired; the stock master has not removed it yet.
    if (file.expire * 1_000 <= nowMs) continue;
    const record = tokenRecord(file);
    if (record !== undefined) tally.took('tokens', await brine.token(file.token, record));
    // A token is a secret: not even its beginning is shown.
    else tally.left('tokens', 'tokens that name no user', 'one');
  }
}

async function takeSessions({ stock, brine, accepted, tally }: FromStock): Promise<void> {
  await eachAtOnce(stock.sessions(), AT_ONCE, async (record) => {
    // Without an accepted key the minion has to log in again anyway.
    if (accepted.has(record.id)) tally.took('sessions', await brine.session(record));
  });
}

async function takeJobs({ stock, brine, sinceMs, tally }: FromStock): Promise<void> {
  let jobs: JobHead[] = [];
  let returns: ReturnLoad[] = [];
  let bytes = 0;
  // With two caches (ext_job_cache) a job is in both, and one statement may write a row only once.
  const inPart = { jobs: new Set<string>(), returns: new Set<string>() };
  const give = async (): Promise<void> => {
    if (jobs.length + returns.length === 0) return;
    const taken = await brine.jobs(jobs, returns);
    tally.moved('jobs', taken.jobs);
    tally.known('jobs', Math.max(0, jobs.length - taken.jobs));
    tally.moved('returns', taken.returns);
    tally.known('returns', Math.max(0, returns.length - taken.returns));
    [jobs, returns, bytes] = [[], [], 0];
    for (const ids of Object.values(inPart)) ids.clear();
  };
  for await (const job of stock.jobs(sinceMs)) {
    if (!isJid(job.jid)) {
      tally.left('jobs', 'jobs whose id is no job id', job.jid);
      continue;
    }
    if (jidTimeMs(job.jid) > TIME_MAX_MS) {
      tally.left('jobs', 'jobs of the year 9999 or later', job.jid);
      continue;
    }
    if (isTwice(inPart.jobs, job.jid)) tally.known('jobs');
    else jobs.push(headOf(job));
    bytes += pack(job.load).length;
    for await (const one of job.returns) {
      if (!isMinionId(one.id)) {
        tally.left('returns', 'returns of what is no minion id', one.id);
        continue;
      }
      if (isTwice(inPart.returns, `${job.jid} ${one.id}`)) {
        tally.known('returns');
        continue;
      }
      returns.push(returnLoad(job, one));
      bytes += pack(one.value).length;
      // The job is written with its first returns; the others follow.
      if (returns.length >= PART_ROWS || bytes >= PART_BYTES) await give();
    }
    if (jobs.length + returns.length >= PART_ROWS || bytes >= PART_BYTES) await give();
  }
  await give();
}

/** Adds an entry to a set; true if it was there already. */
function isTwice(known: Set<string>, entry: string): boolean {
  const before = known.size;
  return known.add(entry).size === before;
}

/** Removes root's local key, which a stock master stores with jobs of `salt` with a token. */
function headOf({ jid, load, minions }: JobHead): JobHead {
  return { jid, load: withoutCredentials(load), minions };
}
