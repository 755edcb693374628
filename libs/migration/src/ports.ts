import type { SaltMap, SaltValue } from '@brine/wire';

/** Data of one minion. */
export interface BankRecord {
  readonly bank: 'grains' | 'pillar' | 'mine';
  readonly id: string;
  /** Of a pillar that was made for an environment. */
  readonly env?: string;
  readonly data: SaltMap;
  /** When it was written, unix ms. */
  readonly timeMs: number;
}

/** A token of `salt -T`, as Salt keeps it. */
export interface TokenFile {
  readonly token: string;
  readonly data: SaltMap;
  /** Unix seconds. */
  readonly expire: number;
}

/** A token, as Brine keeps it. Times are unix seconds. */
export interface TokenRecord {
  readonly start: number;
  readonly expire: number;
  readonly name: string;
  readonly eauth: string;
  readonly groups?: readonly string[];
  readonly authList?: SaltValue;
}

/** The key of a minion's session. */
export interface SessionRecord {
  readonly id: string;
  readonly key: string;
  /** Unix ms. */
  readonly timeMs: number;
}

/** A job, as a stock master keeps it. */
export interface JobHead {
  readonly jid: string;
  readonly load: SaltMap;
  /** Those that were to return; where that is not known, those that did. */
  readonly minions: readonly string[];
}

/** A job with its returns. A job of a large fleet has more of them than fit into memory. */
export interface JobFile extends JobHead {
  /** Read as they are needed, once. */
  readonly returns: AsyncIterable<ReturnFile>;
}

/** A return of a job. */
export interface ReturnFile {
  readonly id: string;
  /** The map `{return, retcode, success}`; of old masters the bare value. */
  readonly value: SaltValue;
  readonly out?: string;
  /** When it came, unix ms. */
  readonly timeMs: number;
}

/** A return, ready for a row. */
export interface ReturnLoad {
  readonly jid: string;
  readonly id: string;
  /** The load of `_return`. */
  readonly load: SaltMap;
  readonly timeMs: number;
}

/** What a stock master has, to be read. */
export interface StockHistory {
  banks(): AsyncIterable<BankRecord>;
  tokens(): AsyncIterable<TokenFile>;
  sessions(): AsyncIterable<SessionRecord>;
  /** @param sinceMs only jobs that changed since, unix ms */
  jobs(sinceMs: number | undefined): AsyncIterable<JobFile>;
}

/** Where Brine takes it. Each says whether it was new. */
export interface BrineIntake {
  /** @throws RangeError for data that are too large to be kept */
  bank(record: BankRecord): Promise<boolean>;
  token(token: string, record: TokenRecord): Promise<boolean>;
  session(record: SessionRecord): Promise<boolean>;
  /** Takes jobs, and returns of these or of jobs before them, all or none. */
  jobs(
    jobs: readonly JobHead[],
    returns: readonly ReturnLoad[],
  ): Promise<{ readonly jobs: number; readonly returns: number }>;
}

/** What Brine has, to be read. */
export interface BrineHistory {
  banks(): AsyncIterable<BankRecord>;
  /** @param nowMs unix ms: those that have ended by then are left out */
  tokens(
    nowMs: number,
  ): Promise<{ readonly tokens: ReadonlyMap<string, TokenRecord>; readonly nameless: number }>;
  sessions(): AsyncIterable<SessionRecord>;
  /** Jobs that people asked for, oldest first. @param sinceMs unix ms */
  jobs(sinceMs: number | undefined): AsyncIterable<JobFile>;
}

/** What became of one job. */
export interface JobCounts {
  /** 1 if it was new. */
  readonly jobs: number;
  /** Those that were new. */
  readonly returns: number;
  /** Returns that were there already. */
  readonly known: number;
}

/** Where a stock master takes it. Each says whether it was new. */
export interface StockIntake {
  bank(record: BankRecord): Promise<boolean>;
  token(file: TokenFile): Promise<boolean>;
  /** Removes all other tokens: their users gave them back, or they ended. */
  keepTokens(wanted: ReadonlySet<string>): Promise<void>;
  session(record: SessionRecord): Promise<boolean>;
  job(job: JobFile): Promise<JobCounts>;
}
