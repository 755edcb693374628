import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { EXIT } from '../../exit-codes.ts';
import { inWords } from '../../in-words.ts';
import { flag, isOn, text, textValue } from '../../options/command-form.ts';
import { brineForm } from '../../options/common-groups.ts';
import { OptionParser } from '../../options/option-parser.ts';
import type { Terminal } from '../../terminal.ts';

const FORM = brineForm(
  'migrate',
  `Brings keys, data of minions, tokens and job history from a stock master to Brine, or back. Both
masters may use the same directories. Each way may be done again, also after it was killed: what is
there, or newer there, stays.

  from-stock  first reports which options are honoured, different, or break something
  to-stock    writes the layout of the stock master's release; keys are then as Brine has them

Nothing is stopped without --hand-over. Exit code 1 if it was refused, or with --dry-run if an
option breaks something; 4 if the ports did not get free.`,
  [
    text(['--stock'], 'stock', "Directory of the stock master's configuration."),
    flag(['--dry-run'], 'dry_run', 'Only say what would be done.'),
    flag(['--hand-over'], 'hand_over', 'Stop the master that runs, so that the ports are free.'),
    flag(['--start'], 'start', 'With from-stock: start Brine in the background at the end.'),
    text(
      ['--history-url'],
      'history_url',
      'URL of the database of pgjsonb, if no option names it.',
    ),
    text(['--release'], 'release', 'With to-stock: release of its Salt, as 3006.26.'),
  ],
  '[options] from-stock|to-stock --stock DIR',
);

/** `brine migrate`: from a stock master to Brine, and back. Returns the exit code. */
export async function runMigrate(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser(FORM);
  const options = parser.parse(args);
  const [way, ...more] = options.args;
  if (more.length > 0) throw parser.error(`unexpected: ${more.join(' ')}`);
  if (way !== 'from-stock' && way !== 'to-stock') throw parser.error('give from-stock or to-stock');
  const stockDir = textValue(options, 'stock');
  if (stockDir === undefined || stockDir === '') {
    throw parser.error("give --stock, the directory of the stock master's configuration");
  }
  const release = textValue(options, 'release');
  if (release !== undefined && !/^\d{4}(?:\.\d+)*$/.test(release)) {
    throw parser.error('--release is no release of Salt, as 3006.26');
  }
  const given = {
    stockDir,
    release,
    configDir: textValue(options, 'config_dir'),
    isDry: isOn(options, 'dry_run'),
    handOver: isOn(options, 'hand_over'),
    start: isOn(options, 'start'),
    historyUrl: textValue(options, 'history_url'),
  };
  if (way === 'to-stock' && given.start) throw parser.error('--start is for from-stock alone');
  if (given.isDry && (given.handOver || given.start)) {
    throw parser.error('--dry-run changes nothing: leave out --hand-over and --start');
  }
  const { migrateFromStock, migrateToStock } = await import('@brine/migration');
  try {
    if (way === 'to-stock') {
      await migrateToStock(given, terminal);
      return EXIT.ok;
    }
    const { options: master, breaks } = await migrateFromStock(given, terminal);
    if (given.start) return await startMaster(master.configDir);
    return given.isDry && breaks > 0 ? EXIT.generic : EXIT.ok;
  } catch (error) {
    throw inWords('migrate', error);
  }
}

/** `--start`: runs `brine master -d`, which waits until the master has claimed the host. */
async function startMaster(configDir: string): Promise<number> {
  const program = process.argv[1] ?? '';
  const words = [...process.execArgv, program, 'master', '-d', '-c', configDir];
  const child = spawn(process.execPath, words, { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? EXIT.generic;
}
