import { EXIT } from '../../exit-codes.ts';
import { inWords } from '../../in-words.ts';
import { flag, isOn, text, textValue } from '../../options/command-form.ts';
import { brineForm } from '../../options/common-groups.ts';
import { OptionParser } from '../../options/option-parser.ts';
import type { Terminal } from '../../terminal.ts';

const FORM = brineForm(
  'restore',
  `Restores a backup to a host that is no master, with empty NATS and PostgreSQL. The whole file is
checked before anything is written. An existing configuration stays; without one, that of the
backup is restored.

The key of the host that made the backup proves the file: backup.key in its pki_dir.

The same command finishes a run that was killed; until then no master starts. Exit code 1 if it
was refused; 4 if another process has what it needs.`,
  [
    flag(['--dry-run'], 'dry_run', 'Only check the file, and list the targets.'),
    text(['--key-file'], 'key_file', 'File with that key, if it is not in pki_dir of this host.'),
    flag(
      ['--without-mac'],
      'without_mac',
      'Accept an unproven file: a user who could write to it can become the master.',
    ),
    flag(
      ['--without-work'],
      'without_work',
      'Skip runs and reactions in progress, which the master would resume.',
    ),
  ],
  '[options] FILE',
);

/** `brine restore`. Returns the exit code. */
export async function runRestore(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser(FORM);
  const options = parser.parse(args);
  const [file, ...more] = options.args;
  if (file === undefined || file === '') throw parser.error('give the file of a backup');
  if (more.length > 0) throw parser.error(`unexpected: ${more.join(' ')}`);
  const { restoreBackup } = await import('@brine/backup');
  const configDir = textValue(options, 'config_dir');
  try {
    const isDry = isOn(options, 'dry_run');
    const withoutWork = isOn(options, 'without_work');
    const withoutMac = isOn(options, 'without_mac');
    const keyFile = textValue(options, 'key_file');
    const given = { file, configDir, isDry, withoutWork, withoutMac, keyFile };
    await restoreBackup(given, terminal);
    return EXIT.ok;
  } catch (error) {
    throw inWords('restore', error, file);
  }
}
