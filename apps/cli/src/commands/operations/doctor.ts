import { JobRecords } from '@brine/client';
import {
  ConfigError,
  type LoadedConfig,
  loadMasterConfig,
  type MasterOptions,
} from '@brine/config';
import { examine, examineBorders, lookAtFacts } from '@brine/operations/doctor';
import { type Finding, findingLines, worstFirst } from '@brine/operations/findings';
import { EXIT } from '../../exit-codes.ts';
import { lookAtMaster } from '../../look-at-master.ts';
import { flag, isOn, text, textValue } from '../../options/command-form.ts';
import { brineForm } from '../../options/common-groups.ts';
import { OptionParser } from '../../options/option-parser.ts';
import { logLine, type Terminal } from '../../terminal.ts';

const DESCRIPTION = `Looks for what exposes the master of this host, and for what will stop it:
private files, keys, options, exposed servers, clock, limits, disks, ports, streams, PostgreSQL,
servers that options name, and the clocks and releases of all hosts. It also names options that are
not in force. If the master runs, it lists the minions that a higher minimum_auth_version would cut
off.

With --security it looks at the borders of the master alone, and closer: owners and modes of all
files and sockets, credentials in environments and command lines, addresses that it listens at,
users of NATS, and options that give more than the defaults. Run it as root.

Exit code 1 if something is bad. Changes nothing.`;

const OPTIONS = [
  flag(['--security'], 'security', 'Only what separates the master from others on this host.'),
  text(['--out', '--output'], 'output', 'json, or lines.'),
];

/** Timeout for the master, which may not run, ms. */
const ASK_MS = 5_000;

/** `brine doctor`: prints its findings. Returns the exit code. */
export async function runDoctor(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser(brineForm('doctor', DESCRIPTION, OPTIONS));
  const options = parser.parse(args);
  const location = { configDir: textValue(options, 'config_dir') };
  let loaded: LoadedConfig<MasterOptions>;
  try {
    loaded = loadMasterConfig(location);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    logLine(terminal, 'ERROR', error.message);
    return EXIT.generic;
  }
  const findings = isOn(options, 'security')
    ? worstFirst(await examineBorders(loaded, location))
    : await examineRunning(loaded, terminal);
  terminal.out(
    textValue(options, 'output') === 'json'
      ? `${JSON.stringify(findings, null, 4)}\n`
      : findingLines(findings),
  );
  return findings.some(({ level }) => level === 'bad') ? EXIT.generic : EXIT.ok;
}

async function examineRunning(
  loaded: LoadedConfig<MasterOptions>,
  terminal: Terminal,
): Promise<Finding[]> {
  const master = lookAtMaster(loaded.options, terminal, ASK_MS);
  try {
    const jobs = new JobRecords(master.client);
    const facts = await lookAtFacts(loaded.options, jobs);
    return await examine(loaded, () => jobs.logInVersions(), facts);
  } finally {
    await master.close();
  }
}
