import { join } from 'node:path';
import { findInstalledSalt } from '@brine/cachedir';
import type { MasterOptions } from '@brine/config';
import type { StockTables } from '@brine/job-cache';
import { type Output, RefusedError, runningMaster } from '@brine/master-host';
import { giveTo, ownerOf } from '@brine/master-host/files';
import { commandLog } from '@brine/master-host/servers';
import type { SaltMap } from '@brine/wire';
import { type MigrateArguments, openTables, readBoth } from './both-masters.ts';
import { brineHistory } from './edge/brine-side.ts';
import { stockMaster, stopMaster } from './edge/hand-over.ts';
import { moveKeys, moveSigningFiles } from './edge/key-files.ts';
import { STOCK_CACHES, stockIntake } from './edge/stock-side.ts';
import { type BrineStores, openStores } from './edge/stores.ts';
import { keyLines, tallyLines } from './report-lines.ts';
import { notInFiles, unreadable } from './stock-home.ts';
import { StoppedError } from './stopped-error.ts';
import { Tally } from './tally.ts';
import { toStock } from './to-stock.ts';

/** Appended to an error after Brine was stopped. */
const STOPPED = '. Brine is stopped: start it again, or mend this and run the command again';

/** Services stop in three stages, each within stop_deadline. */
const STAGES = 3;
const STOP_MORE_MS = 10_000;

/**
 * Exports Brine's data to a stock master, in the layout of its release. It can be repeated at any
 * time, also after a kill. @throws RefusedError, StoppedError
 */
export async function migrateToStock(args: MigrateArguments, output: Output): Promise<void> {
  const {
    stock: { options: stock },
    ours: { options: ours },
  } = readBoth(args);
  const reason = unreadable(stock);
  if (reason !== undefined) throw new RefusedError(reason);
  const running = stockMaster(stock);
  if (running !== undefined) {
    throw new RefusedError(
      `the stock master runs (pid ${running}): stop it first, it would overwrite files`,
    );
  }
  const release = args.release ?? findRelease();
  if (release === undefined) {
    throw new RefusedError(
      'the Salt of the stock master was not found on PATH: say its release with --release, as ' +
        '--release 3006.26 (salt-master --version prints it)',
    );
  }
  const pid = runningMaster(ours);
  output.out(`from: ${ours.confFile} (${pid === undefined ? 'stopped' : `runs, pid ${pid}`})\n`);
  output.out(`to: ${stock.confFile} (Salt ${release})\n`);
  for (const note of notInFiles(stock)) output.out(`different: ${note}\n`);
  const tables = await openTables(stock, args.historyUrl);
  try {
    const moving = { args, stock, ours, release, tables, output };
    if (args.isDry) {
      await lookOnly(moving);
      return;
    }
    await bring(moving);
    if (pid !== undefined && args.handOver) {
      const deadlineMs = ours.brine.stopDeadline * 1_000 * STAGES + STOP_MORE_MS;
      await stopMaster(pid, 'the Brine master', ours, deadlineMs);
      output.out(`stopped: the Brine master (pid ${pid})\n`);
      // Data that arrived during the first pass.
      await bring(moving).catch((error: unknown) => {
        throw new StoppedError(STOPPED, { cause: error });
      });
    }
    next(moving);
  } finally {
    await tables?.close();
  }
}

/** Inputs of the way back. */
interface Moving {
  readonly args: MigrateArguments;
  readonly stock: MasterOptions;
  readonly ours: MasterOptions;
  readonly release: string;
  readonly tables: StockTables | undefined;
  readonly output: Output;
}

/** `--dry-run`: lists the key changes; starts no server. */
async function lookOnly({ stock, ours, output }: Moving): Promise<void> {
  const way = { from: ours, to: stock, how: 'mirror' } as const;
  output.out(keyLines(await moveKeys({ ...way, owner: undefined, isDry: true }), true));
  output.out('data of minions, tokens, sessions and jobs: to be written where they are newer\n');
}

async function bring({ stock, ours, release, tables, output }: Moving): Promise<void> {
  const owner = await ownerOf(stock.user);
  const nowMs = Date.now();
  const keys = await moveKeys({ from: ours, to: stock, how: 'mirror', owner, isDry: false });
  const tally = new Tally();
  const stores = await openStores(ours, commandLog('migrate', output));
  try {
    const keepMs = stock.keepJobsSeconds * 1_000;
    await toStock({
      brine: brineHistory(stores),
      stock: stockIntake({
        options: stock,
        release,
        tables,
        owner,
        dataOf: (id) => dataOf(stores, id),
      }),
      accepted: keys.accepted,
      nowMs,
      sinceMs: keepMs > 0 ? nowMs - keepMs : undefined,
      tally,
    });
  } finally {
    await stores.close();
  }
  for (const line of await moveSigningFiles(ours, stock, owner)) output.out(line);
  const dirs = STOCK_CACHES.map((name) => join(stock.cachedir, name));
  await giveTo(owner, [stock.pkiDir, stock.tokenDir, ...dirs]);
  output.out(keyLines(keys, false));
  output.out(tallyLines(tally, false));
}

async function dataOf(
  { state }: BrineStores,
  id: string,
): Promise<{ readonly grains: SaltMap | undefined; readonly pillar: SaltMap | undefined }> {
  return { grains: await state.bank('grains', id), pillar: await state.bank('pillar', id) };
}

function findRelease(): string | undefined {
  return findInstalledSalt(process.env['PATH'] ?? '')?.version;
}

function next({ args, ours, output }: Moving): void {
  const isRunning = runningMaster(ours) !== undefined;
  output.out(
    isRunning && !args.handOver
      ? 'next: hand the ports over: the same command with --hand-over\n'
      : 'next: start it: systemctl start salt-master\n',
  );
}
