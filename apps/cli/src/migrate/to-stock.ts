import { join } from 'node:path';
import { findInstalledSalt } from '@brine/cachedir';
import type { MasterOptions } from '@brine/config';
import type { StockTables } from '@brine/job-cache';
import { runningMaster } from '@brine/master-host';
import { notInFiles, Tally, toStock, unreadable } from '@brine/migration';
import type { SaltMap } from '@brine/wire';
import { EXIT } from '../exit-codes.ts';
import type { Terminal } from '../terminal.ts';
import { brineHistory } from './brine-side.ts';
import { giveTo, ownerOf } from './give-to.ts';
import { type MigrateArguments, migrationLog, openTables, readBoth } from './given.ts';
import { stockMaster, stopMaster } from './hand-over.ts';
import { inWords } from './in-words.ts';
import { moveKeys, moveSigningFiles } from './key-files.ts';
import { refused } from './refused.ts';
import { keyLines, tallyLines } from './show.ts';
import { STOCK_CACHES, stockIntake } from './stock-side.ts';
import { type BrineStores, openStores } from './stores.ts';

/** Said where the work failed between one master and the other. */
const STOPPED = '. Brine is stopped: start it again, or mend this and run the command again';

/** Services stop one stage after the other, each within stop_deadline, and three stages are. */
const STAGES = 3;
const STOP_MORE_MS = 10_000;

/**
 * `brine migrate to-stock`: brings what Brine knows to a stock master, in the layout of its
 * release. Gives the exit code. It may be done again at any time, also after it was killed.
 * @throws Exit with one line that says what to do
 */
export async function migrateToStock(args: MigrateArguments, terminal: Terminal): Promise<number> {
  const {
    stock: { options: stock },
    ours: { options: ours },
  } = readBoth(args);
  const reason = unreadable(stock);
  if (reason !== undefined) throw refused(reason);
  const running = stockMaster(stock);
  if (running !== undefined) {
    throw refused(
      `the stock master runs (pid ${running}): stop it first, it would overwrite files`,
    );
  }
  const release = args.release ?? findRelease();
  if (release === undefined) {
    throw refused(
      'the Salt of the stock master was not found on PATH: say its release with --release, as ' +
        '--release 3006.26 (salt-master --version prints it)',
    );
  }
  const pid = runningMaster(ours);
  terminal.out(`from: ${ours.confFile} (${pid === undefined ? 'stopped' : `runs, pid ${pid}`})\n`);
  terminal.out(`to: ${stock.confFile} (Salt ${release})\n`);
  for (const note of notInFiles(stock)) terminal.out(`different: ${note}\n`);
  const tables = await openTables(stock, args.historyUrl);
  try {
    const moving = { args, stock, ours, release, tables, terminal };
    if (args.isDry) return await lookOnly(moving);
    await bring(moving);
    if (pid !== undefined && args.handOver) {
      const deadlineMs = ours.brine.stopDeadline * 1_000 * STAGES + STOP_MORE_MS;
      await stopMaster(pid, 'the Brine master', ours, deadlineMs);
      terminal.out(`stopped: the Brine master (pid ${pid})\n`);
      // What came while the rest was written.
      await bring(moving).catch((error: unknown) => {
        throw inWords(error, STOPPED);
      });
    }
    return next(moving);
  } finally {
    await tables?.close();
  }
}

/** What a way back works with. */
interface Moving {
  readonly args: MigrateArguments;
  readonly stock: MasterOptions;
  readonly ours: MasterOptions;
  readonly release: string;
  readonly tables: StockTables | undefined;
  readonly terminal: Terminal;
}

/** `--dry-run`: says what would change of the keys; no server is started for it. */
async function lookOnly({ stock, ours, terminal }: Moving): Promise<number> {
  const way = { from: ours, to: stock, how: 'mirror' } as const;
  terminal.out(keyLines(await moveKeys({ ...way, owner: undefined, isDry: true }), true));
  terminal.out('data of minions, tokens, sessions and jobs: to be written where they are newer\n');
  return EXIT.ok;
}

async function bring({ stock, ours, release, tables, terminal }: Moving): Promise<void> {
  const owner = await ownerOf(stock.user);
  const nowMs = Date.now();
  const keys = await moveKeys({ from: ours, to: stock, how: 'mirror', owner, isDry: false });
  const tally = new Tally();
  const stores = await openStores(ours, migrationLog(terminal));
  try {
    const keepMs = stock.keepJobsSeconds * 1_000;
    await toStock({
      brine: brineHistory(stores),
      stock: stockIntake({
        ...{ options: stock, release, tables, owner },
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
  for (const line of await moveSigningFiles(ours, stock, owner)) terminal.out(line);
  const dirs = STOCK_CACHES.map((name) => join(stock.cachedir, name));
  await giveTo(owner, [stock.pkiDir, stock.tokenDir, ...dirs]);
  terminal.out(keyLines(keys, false));
  terminal.out(tallyLines(tally, false));
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

function next({ args, ours, terminal }: Moving): number {
  const isRunning = runningMaster(ours) !== undefined;
  terminal.out(
    isRunning && !args.handOver
      ? 'next: hand the ports over: the same command with --hand-over\n'
      : 'next: start it: systemctl start salt-master\n',
  );
  return EXIT.ok;
}
