import type { SaltHome, SaltPorts, SaltVersion } from '@brine/testing';
import type { ProcessTree } from '../measure/process-tree.ts';

/**
 * The stock masters that Brine is compared with, in the order of the table's columns. Goals name
 * 3008.2; the others are the newest of their lines.
 */
const STOCK = {
  '3006.30': { release: '3006.30', config: {} },
  '3008.2': { release: '3008.2', config: {} },
  '3008.5': { release: '3008.5', config: {} },
  // Its workers are asyncio tasks then (salt/master.py).
  '3008.5 async': { release: '3008.5', config: { master_async_mworker: true } },
} as const satisfies Readonly<Record<string, StockMaster>>;

/** A stock master: its release, and what its file has besides. */
export interface StockMaster {
  readonly release: SaltVersion;
  readonly config: Readonly<Record<string, unknown>>;
}

/** A stock master that is measured. */
export type StockName = keyof typeof STOCK;

/** Brine, or a stock master. */
export type MasterName = 'brine' | StockName;

export const STOCK_NAMES = Object.keys(STOCK) as readonly StockName[];

/** What the stock master of a name is. */
export function stockMaster(name: StockName): StockMaster {
  return STOCK[name];
}

/** What a benchmark starts a master with. */
export interface MasterOptions {
  /** Added to the master's configuration file. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Added to the environment of all its processes. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A running master in a directory of its own. */
export interface MasterUnderTest {
  readonly name: MasterName;
  readonly home: SaltHome & SaltPorts;
  readonly tree: ProcessTree;
  /** From the start of the process until it really served, in ms. */
  readonly startMs: number;
  /** Returns of these jobs in its store: rows of PostgreSQL, or files of the job cache. */
  countReturns(jids: readonly string[]): Promise<number>;
  /** Writes this many finished jobs of the last day into its store. */
  fillStore(jobs: number): Promise<void>;
  /** Ends the master and starts it again on the same files; `keepKeys: false` makes it forget. */
  restart(options: { readonly keepKeys: boolean }): Promise<MasterUnderTest>;
  /** Serves Salt's HTTP API on the port of its file, where a program of its own does that. */
  serveHttp(port: number): Promise<void>;
  /** Runs its own command line (`salt`, `salt-run`); resolves with the wall time in ms. */
  runCommand(command: 'salt' | 'salt-run', args: readonly string[]): Promise<CommandRun>;
  close(): Promise<void>;
}

/** Duration, exit code and output of a master's command. */
export interface CommandRun {
  readonly ms: number;
  readonly code: number;
  readonly stdout: string;
}

/** What all masters here have in common, so that the same thing is compared. */
export const COMMON_CONFIG: Readonly<Record<string, unknown>> = {
  auto_accept: true,
  // Salt's default; the sandbox of the tests takes fewer.
  worker_threads: 5,
  // 2 is the payload version of 3006's minions; 3008 refuses it by default.
  minimum_auth_version: 2,
  max_open_files: 100_000,
  log_level: 'warning',
};
