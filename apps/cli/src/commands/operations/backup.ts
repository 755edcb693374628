import { EXIT } from '../../exit-codes.ts';
import { inWords } from '../../in-words.ts';
import { readMasterConfig } from '../../master-config.ts';
import { numberValue } from '../../options/command-form.ts';
import { BRINE_VERSION, brineForm } from '../../options/common-groups.ts';
import { OptionParser } from '../../options/option-parser.ts';
import type { Terminal } from '../../terminal.ts';

const SPEED_MIB = 64;

const FORM = brineForm(
  'backup',
  `Writes all that is Brine's own into one file while the master runs: configuration, keys, streams,
buckets and PostgreSQL. What was acknowledged before the mark that it prints is in it. The file is
as secret as the master's key; its mode is 0600. Files of states and pillars are not in it.

Exit code 1 if it was refused or broke off; the file of before stays then.`,
  [
    {
      names: ['--speed'],
      dest: 'speed',
      kind: 'int',
      default: SPEED_MIB,
      metavar: 'MIB',
      help: 'MiB a second at most.',
    },
  ],
  '[options] FILE',
);

/** `brine backup`. Returns the exit code. */
export async function runBackup(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser(FORM);
  const options = parser.parse(args);
  const [file, ...more] = options.args;
  if (file === undefined || file === '') throw parser.error('give the file, as brine.tar.gz');
  if (more.length > 0) throw parser.error(`unexpected: ${more.join(' ')}`);
  const speed = numberValue(options, 'speed') ?? SPEED_MIB;
  if (speed < 1) throw parser.error('--speed is at least 1');
  const master = readMasterConfig(options, terminal);
  const { writeBackup } = await import('@brine/backup');
  try {
    await writeBackup({ file, options: master, speed, release: BRINE_VERSION }, terminal);
    return EXIT.ok;
  } catch (error) {
    throw inWords('backup', error, file);
  }
}
