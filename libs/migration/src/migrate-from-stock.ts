import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { dropFilePath, readUserKeys } from '@brine/cachedir';
import { type MasterOptions, refusalOf } from '@brine/config';
import { asOwnerOf, type Owner, textIfThere, writeNew } from '@brine/files';
import type { StockTables } from '@brine/job-cache';
import { type Output, RefusedError, runningMaster } from '@brine/master-host';
import { giveTo, ownerOf } from '@brine/master-host/files';
import { commandLog } from '@brine/master-host/servers';
import { type BothMasters, type MigrateArguments, openTables, readBoth } from './both-masters.ts';
import { type BrineIntake, brineIntake } from './edge/brine-side.ts';
import { stockMaster, stopMaster } from './edge/hand-over.ts';
import { type KeyReport, moveKeys, moveSigningFiles } from './edge/key-files.ts';
import { stockHistory } from './edge/stock-side.ts';
import { type BrineStores, openStores } from './edge/stores.ts';
import { fromStock } from './from-stock.ts';
import { type OptionReport, optionReport } from './option-report.ts';
import { keyLines, optionLines, tallyLines } from './report-lines.ts';
import { notInFiles, unreadable } from './stock-home.ts';
import { StoppedError } from './stopped-error.ts';
import { Tally } from './tally.ts';

/** Appended to an error after the stock master was stopped. */
const STOPPED =
  '. The stock master is stopped: start it again, or mend this and run the command again';

/** User names in file names of local keys. */
const USER_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.@$-]*$/;

/** Clocks of files and of this process may differ, and a job may be half written, in ms. */
const MARGIN_MS = 60_000;

/**
 * Reports on options, then imports a stock master's data into Brine. It can be repeated at any
 * time, also after a kill. @throws RefusedError, StoppedError
 */
export async function migrateFromStock(
  args: MigrateArguments,
  output: Output,
): Promise<ImportOutcome> {
  const both = readBoth(args);
  const { options: stock } = both.stock;
  const pid = stockMaster(stock);
  output.out(`from: ${stock.confFile} (${pid === undefined ? 'stopped' : `runs, pid ${pid}`})\n`);
  output.out(`to: ${both.ours.options.confFile}\n`);
  const report = reportOf(both);
  output.out(optionLines(report, notInFiles(stock)));
  const reason = unreadable(stock);
  if (reason !== undefined) throw new RefusedError(reason);
  const refusal = refusalOf(both.ours.warnings);
  if ((args.handOver || args.start) && refusal !== undefined) {
    throw new RefusedError(
      `The stock master was left alone, because Brine would not start.\n${refusal}`,
    );
  }
  const tables = await openTables(stock, args.historyUrl);
  try {
    if (args.isDry) await lookOnly(both, tables, output);
    else await move(args, both, tables, output);
    return { options: both.ours.options, breaks: report.breaks.length };
  } finally {
    await tables?.close();
  }
}

function reportOf({ stock, ours, isOneFile }: BothMasters): OptionReport {
  const { written, brine } = ours.options;
  const other = { written, accepted: brine.acceptIgnored };
  return optionReport(
    stock.options.written,
    stock.warnings,
    isOneFile ? { ...other, written: stock.options.written } : other,
  );
}

/** `--dry-run`: counts the data; writes nothing, and starts no server. */
async function lookOnly(
  { stock, ours }: BothMasters,
  tables: StockTables | undefined,
  output: Output,
): Promise<void> {
  const way = { from: stock.options, to: ours.options, how: 'add' } as const;
  const keys = await moveKeys({ ...way, owner: undefined, isDry: true });
  output.out(keyLines(keys, true));
  const tally = new Tally();
  await take(stock.options, tables, { keys, tally, brine: ONLY_COUNTS });
  output.out(tallyLines(tally, true));
}

const ONLY_COUNTS: BrineIntake = {
  bank: () => Promise.resolve(true),
  token: () => Promise.resolve(true),
  session: () => Promise.resolve(true),
  jobs: (jobs, returns) => Promise.resolve({ jobs: jobs.length, returns: returns.length }),
};

async function take(
  stock: MasterOptions,
  tables: StockTables | undefined,
  to: {
    readonly keys: KeyReport;
    readonly tally: Tally;
    readonly brine: BrineIntake;
    readonly sinceMs?: number;
  },
): Promise<void> {
  const { keys, tally, brine, sinceMs } = to;
  const onPassed = ({ path, why }: { path: string; why: string }): void =>
    tally.note(`files that can not be read (${why})`, path);
  await fromStock({
    stock: stockHistory(stock, tables, onPassed),
    brine,
    accepted: keys.accepted,
    nowMs: Date.now(),
    sinceMs,
    tally,
  });
}

/** The result of an import. */
export interface ImportOutcome {
  /** Options of the Brine master. */
  readonly options: MasterOptions;
  /** Number of options of the stock master that break something. */
  readonly breaks: number;
}

/** Inputs of a move. */
interface Moving {
  readonly args: MigrateArguments;
  readonly stock: MasterOptions;
  readonly ours: MasterOptions;
  readonly tables: StockTables | undefined;
  readonly output: Output;
  readonly owner: Owner | undefined;
  /** Pid of the stock master, once it has to stop. */
  pid: number | undefined;
}

async function move(
  args: MigrateArguments,
  { stock: { options: stock }, ours: { options: ours } }: BothMasters,
  tables: StockTables | undefined,
  output: Output,
): Promise<void> {
  const owner = await ownerOf(ours.user);
  const moving: Moving = { args, stock, ours, tables, output, owner, pid: undefined };
  try {
    await bring(moving);
  } catch (error) {
    // Rethrow the first error, but hand the files over: the master's user could not read them.
    await giveAway(moving).catch(() => undefined);
    const isStopped = moving.pid !== undefined && stockMaster(stock) === undefined;
    throw isStopped ? new StoppedError(STOPPED, { cause: error }) : error;
  }
  if (!args.start) next(stock, ours, output);
}

async function bring(moving: Moving): Promise<void> {
  const { stock, ours, output, owner } = moving;
  const keysOf = (): Promise<KeyReport> =>
    moveKeys({ from: stock, to: ours, how: 'add', owner, isDry: false });
  const startedMs = Date.now();
  let keys = await keysOf();
  const tally = new Tally();
  const stores = await openStores(ours, commandLog('migrate', output));
  try {
    const brine = brineIntake(stores, {
      deadlineSeconds: ours.brine.jobDeadline,
      host: ours.brine.host,
    });
    await take(stock, moving.tables, { keys, tally, brine });
    moving.pid = moving.args.handOver ? stockMaster(stock) : undefined;
    if (moving.pid !== undefined) {
      await stopMaster(moving.pid, 'the stock master', stock);
      output.out(`stopped: the stock master (pid ${moving.pid})\n`);
      // Data that arrived during the first pass. Keys that changed since are reported.
      const last = await keysOf();
      keys = { ...last, added: keys.added + last.added };
      const late = tally.after();
      const sinceMs = startedMs - MARGIN_MS;
      await take(stock, moving.tables, { keys, tally: late, brine, sinceMs });
      tally.add(late);
    }
    await moveUserKeys(stock, ours, stores);
    await stores.state.done();
  } finally {
    await stores.close();
  }
  for (const line of await moveSigningFiles(stock, ours, owner)) output.out(line);
  await moveDropFile(stock, ours);
  await giveAway(moving);
  output.out(keyLines(keys, false));
  output.out(tallyLines(tally, false));
}

/** Keys of local users, so that running clients stay valid. */
async function moveUserKeys(
  stock: MasterOptions,
  ours: MasterOptions,
  { state }: BrineStores,
): Promise<void> {
  const keys: Record<string, string> = {};
  const { cachedir } = stock;
  for (const { user, key } of await asOwnerOf(cachedir, () => readUserKeys(cachedir))) {
    if (USER_NAME.test(user)) keys[user] = key;
  }
  await state.takeUserKeys(ours.brine.host, keys);
}

/** Copies a request to rotate the AES key that the stock master has not processed. */
async function moveDropFile(stock: MasterOptions, ours: MasterOptions): Promise<void> {
  const [from, to] = [dropFilePath(stock.cachedir), dropFilePath(ours.cachedir)];
  const asked = from !== to && (await asOwnerOf(dirname(from), () => textIfThere(from)));
  if (typeof asked !== 'string') return;
  await asOwnerOf(ours.cachedir, async () => {
    await mkdir(ours.cachedir, { recursive: true, mode: 0o755 });
    await writeNew(to, ours.masterId, { mode: 0o400 });
  });
}

/** Root made the files; a master that does not run as root must own them. */
async function giveAway({ stock, ours, owner }: Moving): Promise<void> {
  if (owner === undefined || ours.user === 'root' || runningMaster(ours) !== undefined) return;
  // Files of the stock master keep their owner if it runs as another user.
  const stocks = stock.user === ours.user ? [] : [stock.cachedir, stock.pkiDir, stock.ownPkiDir];
  const dirs = [ours.brine.stateDir, ours.cachedir, ours.pkiDir, ours.ownPkiDir];
  await giveTo(
    owner,
    dirs.filter((dir) => !stocks.includes(dir)),
  );
}

function next(stock: MasterOptions, ours: MasterOptions, output: Output): void {
  const here = `-c ${ours.configDir}`;
  const running = stockMaster(stock);
  const steps =
    running === undefined
      ? [`start it: systemctl start brine-master, or brine master -d ${here}`]
      : [
          'hand the ports over: the same command with --hand-over (and --start)',
          'then disable the stock master: systemctl disable salt-master',
        ];
  if (runningMaster(ours) === undefined) output.out(steps.map((one) => `next: ${one}\n`).join(''));
}
