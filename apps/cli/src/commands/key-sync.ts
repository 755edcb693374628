import { confirmKeySync, readKeySyncAlarm } from '@brine/pki';
import { EXIT } from '../exit-codes.ts';
import { readMasterConfig } from '../master-config.ts';
import { BASE_OPTIONS } from '../options/common-groups.ts';
import { flag, isOn } from '../options/option.ts';
import { OptionParser } from '../options/parser.ts';
import type { Terminal } from '../terminal.ts';

/**
 * `brine key sync [--confirm]`: why the key files of this host are no longer followed, and the word
 * that they were meant to vanish. An unmounted volume must not delete a fleet, so the event-bus
 * asks before it takes many files at once for deleted.
 */
export async function runKeySync(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser({
    prog: 'brine key sync',
    usage: '[options]',
    description: 'Shows whether the key files of this host are followed.',
    version: '0.1.0',
    groups: [
      {
        title: 'Options',
        options: [
          ...BASE_OPTIONS,
          flag(['--confirm'], 'confirm', 'The files that vanished were meant to: delete the keys.'),
        ],
      },
    ],
  });
  const options = parser.parse(args);
  if (options.args.length > 0) throw parser.error(`unexpected: ${options.args.join(' ')}`);
  const { pkiDir } = readMasterConfig(options, terminal);
  const alarm = await readKeySyncAlarm(pkiDir);
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
  await confirmKeySync(pkiDir);
  terminal.out('Confirmed; the keys are deleted within seconds.\n');
  return EXIT.ok;
}
