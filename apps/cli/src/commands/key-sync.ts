import { dirname } from 'node:path';
import { asOwnerOf } from '@brine/files';
import { confirmKeySync, journalPath, readKeySyncAlarm } from '@brine/pki';
import { EXIT } from '../exit-codes.ts';
import { readMasterConfig } from '../master-config.ts';
import { flag, isOn } from '../options/command-form.ts';
import { brineForm } from '../options/common-groups.ts';
import { OptionParser } from '../options/option-parser.ts';
import type { Terminal } from '../terminal.ts';

/**
 * `brine key sync [--confirm]`: shows why changes of key files have no effect, and confirms that
 * vanished files were removed on purpose. When many files vanish at once, as with an unmounted
 * volume, the event-bus deletes no keys without this confirmation.
 */
export async function runKeySync(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser(
    brineForm('key sync', 'Shows whether changes of key files on this host take effect.', [
      flag(['--confirm'], 'confirm', 'Delete the keys of the files that vanished.'),
    ]),
  );
  const options = parser.parse(args);
  if (options.args.length > 0) throw parser.error(`unexpected: ${options.args.join(' ')}`);
  const { pkiDir } = readMasterConfig(options, terminal);
  // The journal is beside pki_dir, or in it.
  const dir = dirname(journalPath(pkiDir));
  const alarm = await asOwnerOf(dir, () => readKeySyncAlarm(pkiDir));
  if (alarm === undefined) {
    terminal.out('The key files are followed; nothing waits to be confirmed.\n');
    return EXIT.ok;
  }
  const { vanished, limit, ids, since } = alarm;
  const more = vanished > ids.length ? ` and ${vanished - ids.length} more` : '';
  terminal.out(
    `Stopped since ${new Date(since).toISOString()}: ${vanished} key files vanished at once, ` +
      `more than ${limit}: ${ids.join(', ')}${more}\n`,
  );
  if (!isOn(options, 'confirm')) {
    terminal.out('If that was meant: brine key sync --confirm. If not: put the files back.\n');
    return EXIT.generic;
  }
  await asOwnerOf(dir, () => confirmKeySync(pkiDir));
  terminal.out('Confirmed; the keys are deleted within seconds.\n');
  return EXIT.ok;
}
