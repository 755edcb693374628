import { flag, isOn, textValue } from '../options/command-form.ts';
import { brineForm } from '../options/common-groups.ts';
import { OptionParser } from '../options/option-parser.ts';
import type { Terminal } from '../terminal.ts';

const FORM = brineForm(
  'restore',
  `Puts a backup on a host that is no master, with empty NATS and PostgreSQL. The whole file is
checked before anything is written. A configuration that is there stays; without one, that of the
backup is put there.

A run that was killed is ended by the same command; until then no master starts. Exit code 1 if it
was refused; 4 if another process has what it needs.`,
  [
    flag(['--dry-run'], 'dry_run', 'Only check the file, and say where everything would go.'),
    flag(
      ['--without-work'],
      'without_work',
      'Leave out runs and reactions that were under way; else the master goes on with them.',
    ),
  ],
  '[options] FILE',
);

/** `brine restore`. Gives the exit code. */
export async function runRestore(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser(FORM);
  const options = parser.parse(args);
  const [file, ...more] = options.args;
  if (file === undefined || file === '') throw parser.error('give the file of a backup');
  if (more.length > 0) throw parser.error(`unexpected: ${more.join(' ')}`);
  const { inWords } = await import('./in-words.ts');
  const { restoreBackup } = await import('./put.ts');
  const configDir = textValue(options, 'config_dir');
  try {
    const isDry = isOn(options, 'dry_run');
    const withoutWork = isOn(options, 'without_work');
    return await restoreBackup({ file, configDir, isDry, withoutWork }, terminal);
  } catch (error) {
    throw inWords('restore', file, error);
  }
}
