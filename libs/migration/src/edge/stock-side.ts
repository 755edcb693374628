import { join } from 'node:path';
import {
  BankFiles,
  bankLayoutOf,
  JobFiles,
  keepStockTokens,
  type PassedOver,
  readStockBanks,
  readStockJobs,
  readStockSessions,
  readStockTokens,
  type StockBankRecord,
  type StockJob,
  type StockReturn,
  type StockSession,
  type StockToken,
  writeStockSession,
  writeStockToken,
} from '@brine/cachedir';
import type { MasterOptions } from '@brine/config';
import { asOwnerOf, eachAsOwnerOf, type Owner } from '@brine/files';
import { isJid } from '@brine/job';
import { type StockTables, type TableReturn } from '@brine/job-cache';
import { ownerIn } from '@brine/master-host/files';
import { isMap, mapOf, type SaltMap, textOf } from '@brine/wire';
import { readJson, toJson } from '@brine/wire/text';

/** A job with its returns, which may not fit into memory. */
export type JobFile = Omit<StockJob, 'timeMs'>;

/** A job as a stock master stores it. */
export type JobHead = Omit<JobFile, 'returns'>;

/** Directories below cachedir that a stock master owns, or that its files are written to. */
export const STOCK_CACHES = [
  ...['grains', 'jobs', 'mine', 'minions', 'pillar', 'sessions', 'syndics'],
  '.brine-drafts',
];

/** A cachedir and the stock master's directories in it: all have one owner. */
function stockDirs(cachedir: string): readonly string[] {
  return [cachedir, ...STOCK_CACHES.map((name) => join(cachedir, name))];
}

/** Reads the data of a stock master. */
export type StockHistory = ReturnType<typeof stockHistory>;

/** Reads a stock master's files, and its database if it has one. */
export function stockHistory(
  options: MasterOptions,
  tables: StockTables | undefined,
  onPassed: (passed: PassedOver) => void,
) {
  const { cachedir, hashType, tokenDir } = options;
  const dirs = stockDirs(cachedir);
  return {
    banks: () => eachAsOwnerOf(dirs, readStockBanks(cachedir, onPassed)),
    tokens: () => eachAsOwnerOf(tokenDir, readStockTokens(tokenDir, onPassed)),
    sessions: () => eachAsOwnerOf(dirs, readStockSessions(cachedir, onPassed)),
    /** @param sinceMs only jobs that changed since, unix ms */
    async *jobs(sinceMs: number | undefined): AsyncGenerator<JobFile> {
      const files = new JobFiles({ cachedir, hashType });
      for await (const job of eachAsOwnerOf(dirs, readStockJobs(files, { sinceMs, onPassed }))) {
        yield { ...job, returns: eachAsOwnerOf(dirs, job.returns) };
      }
      if (tables !== undefined) yield* tableJobs(tables, sinceMs);
    },
  };
}

/** Jobs of a database, from some time before `sinceMs`: late returns belong to earlier jobs. */
async function* tableJobs(
  tables: StockTables,
  sinceMs: number | undefined,
): AsyncGenerator<JobFile> {
  for await (const jobs of tables.jobs(sinceMs === undefined ? '' : jidBefore(sinceMs))) {
    for (const { jid, load: json, returned } of jobs) {
      const load = mapOfJson(json);
      yield { jid, load, minions: targetsOf(load) ?? returned, returns: tableReturns(tables, jid) };
    }
  }
}

async function* tableReturns(tables: StockTables, jid: string): AsyncGenerator<StockReturn> {
  for await (const some of tables.returns(jid)) for (const one of some) yield tableReturn(one);
}

/** Returns of one statement. A highstate return is about 100 KB. */
const ROWS_AT_ONCE = 100;

/** Longest run of a job: an hour, the default of Brine's deadline. */
const LONGEST_JOB_MS = 3_600_000;

function jidBefore(ms: number): string {
  return new Date(ms - LONGEST_JOB_MS).toISOString().replace(/[-:T.Z]/g, '');
}

/** These tables have no lists of minions; only a list target names them. */
function targetsOf(load: SaltMap): readonly string[] | undefined {
  const tgt = load.get('tgt');
  if (textOf(load, 'tgt_type') !== 'list') return undefined;
  if (Array.isArray(tgt)) return tgt.filter((id) => typeof id === 'string');
  return typeof tgt === 'string' ? tgt.split(',') : undefined;
}

function tableReturn({ id, fullRet, timeMs }: TableReturn): StockReturn {
  const full = mapOfJson(fullRet);
  const out = textOf(full, 'out');
  const value = mapOf({
    return: full.get('return') ?? null,
    retcode: full.get('retcode'),
    success: full.get('success'),
  });
  return { id, value, ...(out === undefined ? {} : { out }), timeMs };
}

function mapOfJson(json: string): SaltMap {
  const value = readJson(json);
  return isMap(value) ? value : mapOf({});
}

/** Inputs for writing a stock master's files. */
export interface StockFiles {
  readonly options: MasterOptions;
  /** Release, as `3006.26`. */
  readonly release: string;
  readonly tables: StockTables | undefined;
  readonly owner: Owner | undefined;
  /** Grains and pillar of a minion, which share a file in 3006. */
  readonly dataOf: (
    id: string,
  ) => Promise<{ readonly grains: SaltMap | undefined; readonly pillar: SaltMap | undefined }>;
}

/** The result for one job. */
export interface JobCounts {
  /** 1 if the job was new. */
  readonly jobs: number;
  /** Number of new returns. */
  readonly returns: number;
  /** Number of returns that existed already. */
  readonly known: number;
}

/** Takes Brine's data into a stock master. Each call resolves with true if the data was new. */
export type StockIntake = ReturnType<typeof stockIntake>;

/** Writes Brine's data in the layout of a release of Salt. */
export function stockIntake({ options, release, tables, owner, dataOf }: StockFiles) {
  const { cachedir, hashType, tokenDir } = options;
  const layout = bankLayoutOf(release);
  const banks = new BankFiles({ cachedir, layout });
  const jobs = new JobFiles({ cachedir, hashType });
  const isOf3008 = layout === '3008';
  const done = new Set<string>();
  const there = <T>(work: () => Promise<T>): Promise<T> => asOwnerOf(stockDirs(cachedir), work);
  return {
    async bank(record: StockBankRecord): Promise<boolean> {
      const { bank, id, env, data, timeMs } = record;
      if (isOf3008 || bank === 'mine') {
        return there(async () => {
          if (await isNewer(banks, record)) return false;
          await banks.write(bank, id, data, { env, timeMs });
          return true;
        });
      }
      // 3006 stores one pillar per minion, for whichever environment came last. Take only the one
      // without an environment.
      if (env !== undefined) return false;
      if (done.has(id)) return true;
      if (await there(() => isNewer(banks, record))) return false;
      const both = await dataOf(id);
      await there(() => banks.writeData(id, both, timeMs));
      done.add(id);
      return true;
    },
    /** Removes all other tokens: they were revoked, or have expired. */
    async keepTokens(wanted: ReadonlySet<string>): Promise<void> {
      await asOwnerOf(tokenDir, () => keepStockTokens(tokenDir, wanted));
    },
    token(file: StockToken): Promise<boolean> {
      const to = { isOf3008, owner: ownerIn(tokenDir, owner) };
      return asOwnerOf(tokenDir, () => writeStockToken(tokenDir, file, to));
    },
    async session(record: StockSession): Promise<boolean> {
      const dir = join(cachedir, 'sessions');
      const its = ownerIn(dir, owner);
      await there(() => writeStockSession(cachedir, record, its));
      return true;
    },
    job: (job: JobFile): Promise<JobCounts> =>
      tables === undefined ? writeFiles(jobs, job, there) : writeRows(tables, job),
  };
}

async function isNewer(
  banks: BankFiles,
  { bank, id, env, timeMs }: StockBankRecord,
): Promise<boolean> {
  // File times are rounded to microseconds.
  return ((await banks.writtenMs(bank, id, env)) ?? -Infinity) + 1 >= timeMs;
}

async function writeFiles(
  files: JobFiles,
  { jid, load, minions, returns }: JobFile,
  there: <T>(work: () => Promise<T>) => Promise<T>,
): Promise<JobCounts> {
  const isNew = await there(async () => {
    if (await files.has(jid)) return false;
    await files.writeJob({ jid, load, minions });
    return true;
  });
  const counts = { jobs: Number(isNew), returns: 0, known: 0 };
  for await (const { id, value, out } of returns) {
    const write = () => (isMap(value) ? files.writeReturn(jid, id, value, out) : false);
    if (await there(() => Promise.resolve(write()))) counts.returns += 1;
    else counts.known += 1;
  }
  return counts;
}

async function writeRows(tables: StockTables, { jid, load, returns }: JobFile): Promise<JobCounts> {
  if (!isJid(jid)) return { jobs: 0, returns: 0, known: 0 };
  const counts = { jobs: 0, returns: 0, known: 0 };
  if (await tables.writeJob({ jid, load: toJson(load).json })) counts.jobs = 1;
  let rows: TableReturn[] = [];
  const give = async (): Promise<void> => {
    const written = await tables.writeReturns(jid, rows);
    counts.returns += written;
    counts.known += rows.length - written;
    rows = [];
  };
  for await (const one of returns) {
    rows.push(tableRow(jid, load, one));
    if (rows.length >= ROWS_AT_ONCE) await give();
  }
  await give();
  return counts;
}

function tableRow(jid: string, load: SaltMap, { id, value, timeMs }: StockReturn): TableReturn {
  const fun = textOf(load, 'fun') ?? '';
  const full = mapOf({ jid, id, fun, fun_args: load.get('arg') ?? [] });
  if (isMap(value)) for (const [name, one] of value) full.set(name, one);
  return { jid, id, fun, fullRet: toJson(full).json, timeMs };
}
