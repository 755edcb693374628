import type { StockBankRecord, StockReturn, StockSession } from '@brine/cachedir';
import { isJid, jidTimeMs } from '@brine/job';
import {
  exchangeHead,
  ExchangeReader,
  type JobCache,
  stockJobLine,
  stockReturnLine,
} from '@brine/job-cache';
import type { TokenRecord } from '@brine/master';
import { type SaltMap, textOf } from '@brine/wire';
import type { ReturnLoad } from '../return-loads.ts';
import type { JobFile, JobHead } from './stock-side.ts';
import type { BrineStores } from './stores.ts';

/** Jobs of one query. */
const JOBS_AT_ONCE = 500;

/** Takes a stock master's data into Brine. Each call resolves with true if the data was new. */
export type BrineIntake = ReturnType<typeof brineIntake>;

/** Writes a stock master's data to Brine. */
export function brineIntake(
  { state, jobs }: BrineStores,
  of: { readonly deadlineSeconds: number; readonly host: string },
) {
  return {
    bank: (record: StockBankRecord) => state.takeBank(record),
    token: (token: string, record: TokenRecord) => state.takeToken(token, record),
    session: ({ id, key, timeMs }: StockSession) => state.takeSession(id, key, timeMs),
    /** Takes jobs, and returns of these or earlier jobs, in one transaction. */
    async jobs(some: readonly JobHead[], returns: readonly ReturnLoad[]) {
      const taken = await jobs.importRows(exchangeFile(some, returns, of));
      return { jobs: taken.jobs, returns: taken.returns };
    },
  };
}

function exchangeFile(
  jobs: readonly JobHead[],
  returns: readonly ReturnLoad[],
  of: { readonly deadlineSeconds: number; readonly host: string },
): string {
  const lines = [exchangeHead(Date.now())];
  for (const { jid, load, minions } of jobs) {
    if (isJid(jid)) lines.push(stockJobLine({ jid, load, minions, ...of }));
  }
  for (const { jid, id, load, timeMs } of returns) {
    lines.push(stockReturnLine({ jid, id, load, receivedAtMs: timeMs }));
  }
  const reader = new ExchangeReader();
  for (const line of lines) reader.read(line);
  return `${[...lines, reader.tail()].join('\n')}\n`;
}

/** Reads the data of Brine. */
export type BrineHistory = ReturnType<typeof brineHistory>;

/** Reads the data of Brine in the form of a stock master. */
export function brineHistory({ state, jobs }: BrineStores) {
  return {
    banks: (): AsyncIterable<StockBankRecord> => state.banks(),
    /** Tokens that are valid at `nowMs`, unix ms. */
    tokens: (nowMs: number) => state.tokens(nowMs),
    sessions: (): AsyncIterable<StockSession> => state.sessions(),
    /** Jobs that people asked for, oldest first, since a time in unix ms. */
    jobs: (sinceMs: number | undefined) => jobFiles(jobs, sinceMs),
  };
}

async function* jobFiles(cache: JobCache, sinceMs: number | undefined): AsyncGenerator<JobFile> {
  let after: string | undefined;
  do {
    const page = await cache.listJobs({
      oldestFirst: true,
      leaveOutHidden: true,
      limit: JOBS_AT_ONCE,
      ...(after === undefined ? {} : { after }),
      ...(sinceMs === undefined ? {} : { startTime: sinceMs }),
    });
    for (const jid of page.jobs.keys()) {
      const job = await jobFile(cache, jid);
      if (job !== undefined) yield job;
    }
    after = page.next;
  } while (after !== undefined);
}

async function jobFile(cache: JobCache, jid: string): Promise<JobFile | undefined> {
  const load = await cache.getLoad(jid);
  if (load === undefined) return undefined;
  const listed = load.get('Minions');
  load.delete('Minions');
  // Without it, a job fails `jobs.list_jobs` of a stock master with a KeyError.
  if (!load.has('jid')) load.set('jid', jid);
  const minions = Array.isArray(listed) ? listed.filter((id) => typeof id === 'string') : [];
  return { jid, load, minions, returns: returnFiles(cache, jid) };
}

async function* returnFiles(cache: JobCache, jid: string): AsyncGenerator<StockReturn> {
  let after: string | undefined;
  do {
    const page = await cache.getJid(jid, after === undefined ? {} : { after });
    for (const [id, ret] of page.returns) yield returnFile(jid, id, ret);
    after = page.next;
  } while (after !== undefined);
}

function returnFile(jid: string, id: string, ret: SaltMap): StockReturn {
  const out = textOf(ret, 'out');
  ret.delete('out');
  // The arrival time is unknown here. A stock master uses it only to remove old rows.
  const timeMs = isJid(jid) ? jidTimeMs(jid) : 0;
  return { id, value: ret, ...(out === undefined ? {} : { out }), timeMs };
}
