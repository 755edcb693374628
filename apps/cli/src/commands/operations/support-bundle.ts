import { JobRecords } from '@brine/client';
import {
  ConfigError,
  type LoadedConfig,
  loadMasterConfig,
  type MasterOptions,
} from '@brine/config';
import { writeBundle } from '@brine/operations/support-bundle';
import { EXIT } from '../../exit-codes.ts';
import { inWords } from '../../in-words.ts';
import { lookAtMaster } from '../../look-at-master.ts';
import { textValue } from '../../options/command-form.ts';
import { brineForm } from '../../options/common-groups.ts';
import { OptionParser } from '../../options/option-parser.ts';
import { logLine, type Terminal } from '../../terminal.ts';

const FORM = brineForm(
  'support-bundle',
  `Writes a file for support: status of all hosts, doctor, configuration with
masked passwords, the ends of the logs, the state of streams and PostgreSQL, the newest jobs without
arguments. It works while the master does not run, and changes nothing.

Every part is searched for secrets of this host before the file is written. Lines with a secret
are left out, and parts that still contain one are removed; each is named. Names of hosts, users and
minions stay.`,
  [],
  '[options] FILE',
);

/** Timeout for the master, ms; after it parts contain the error. */
const ASK_MS = 10_000;

/** `brine support-bundle FILE`. Returns the exit code. */
export async function runSupportBundle(
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const parser = new OptionParser(FORM);
  const parsed = parser.parse(args);
  const [file, ...rest] = parsed.args;
  if (file === undefined || rest.length > 0) throw parser.error('name one file, as night.tar.gz');
  const configDir = textValue(parsed, 'config_dir');
  let loaded: LoadedConfig<MasterOptions>;
  try {
    loaded = loadMasterConfig({ configDir });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    logLine(terminal, 'ERROR', error.message);
    return EXIT.generic;
  }
  // Log lines of the client belong to no part.
  const master = lookAtMaster(loaded.options, QUIET, ASK_MS);
  try {
    const jobs = new JobRecords(master.client);
    const { parts, size } = await writeBundle({ file, loaded, configDir, jobs });
    for (const { name, note } of parts) {
      if (note !== undefined) terminal.err(`${name}: ${note}\n`);
    }
    terminal.out(`${file}: ${parts.length} parts, ${size}. Read it before you send it.\n`);
  } catch (error) {
    throw inWords('support-bundle', error);
  } finally {
    await master.close();
  }
  return EXIT.ok;
}

const QUIET: Terminal = {
  out: () => undefined,
  err: () => undefined,
  isTerminal: false,
  ownsSignals: false,
  ask: async () => undefined,
  askSecret: async () => undefined,
  readInput: async () => '',
};
