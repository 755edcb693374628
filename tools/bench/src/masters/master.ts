import type { SaltHome, SaltPorts } from '@brine/testing';
import type { ProcessTree } from '../measure/process-tree.ts';

/** The masters that are measured, in the order of the table's columns. */
export const MASTER_NAMES = ['brine', '3006.26', '3008.2'] as const;

/** Brine, or a release of Salt. */
export type MasterName = (typeof MASTER_NAMES)[number];

/** The stock masters that Brine is compared with. */
export const STOCK_NAMES = ['3006.26', '3008.2'] as const;

/** A release of Salt that is measured. */
export type StockName = (typeof STOCK_NAMES)[number];

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
  /** Runs its own command line (`salt`, `salt-run`); resolves with the wall time in ms. */
  runCommand(command: 'salt' | 'salt-run', args: readonly string[]): Promise<CommandRun>;
  close(): Promise<void>;
}

/** What a command of a master's took and said. */
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
  // 2 is the payload version of 3006's minions; 3008.2 refuses it by default.
  minimum_auth_version: 2,
  max_open_files: 100_000,
  log_level: 'warning',
};
