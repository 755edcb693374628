import { JobRecords } from '@brine/client';
import {
  ConfigError,
  type LoadedConfig,
  loadMasterConfig,
  type MasterOptions,
} from '@brine/config';
import { checkCertificates } from '../doctor/check-certificates.ts';
import { checkCrypto } from '../doctor/check-crypto.ts';
import { checkFiles } from '../doctor/check-files.ts';
import { checkForce } from '../doctor/check-force.ts';
import { checkKeys } from '../doctor/check-keys.ts';
import { checkLimits } from '../doctor/check-limits.ts';
import { checkNode } from '../doctor/check-node.ts';
import { checkOptions } from '../doctor/check-options.ts';
import { checkVersions, type LogInVersions } from '../doctor/check-versions.ts';
import type { Finding } from '../doctor/finding.ts';
import { EXIT } from '../exit-codes.ts';
import { openLocalMaster } from '../local-master.ts';
import { text, textValue } from '../options/command-form.ts';
import { brineForm } from '../options/common-groups.ts';
import { OptionParser } from '../options/option-parser.ts';
import { logLine, type Terminal } from '../terminal.ts';

const DESCRIPTION = `Looks for what exposes the master of this host, and for what will stop it:
private files, keys, options, exposed servers, clock, limits. It also names options that are not in
force. If the master runs, it lists the minions that a higher minimum_auth_version would cut off.

Exit code 1 if something is bad. Changes nothing.`;

/** How long to wait for the master, which may not run. */
const ASK_MS = 10_000;

/** Everything the doctor looks at, the worst first. */
export async function examine(
  { options, warnings }: LoadedConfig<MasterOptions>,
  logIns: LogInVersions,
): Promise<Finding[]> {
  const findings = [
    ...checkForce(warnings),
    ...(await checkFiles(options)),
    ...(await checkKeys(options)),
    ...checkOptions(options),
    ...(await checkCertificates(options)),
    ...(await checkVersions(options, logIns)),
    ...(await checkLimits(options)),
    ...checkNode(),
    ...checkCrypto(),
  ];
  const rank = { bad: 0, warn: 1, ok: 2 } as const;
  return findings.sort((one, other) => rank[one.level] - rank[other.level]);
}

/** `brine doctor`: prints what it finds. Gives the exit code. */
export async function runDoctor(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser(
    brineForm('doctor', DESCRIPTION, [text(['--out', '--output'], 'output', 'json, or lines.')]),
  );
  const options = parser.parse(args);
  let loaded: LoadedConfig<MasterOptions>;
  try {
    loaded = loadMasterConfig({ configDir: textValue(options, 'config_dir') });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    logLine(terminal, 'ERROR', error.message);
    return EXIT.generic;
  }
  const master = openLocalMaster(loaded.options, terminal, { timeoutMs: ASK_MS });
  const jobs = new JobRecords(master.client);
  const findings = await examine(loaded, () => jobs.logInVersions()).finally(() => master.close());
  terminal.out(
    textValue(options, 'output') === 'json'
      ? `${JSON.stringify(findings, null, 4)}\n`
      : findings.map((one) => `${one.level.padEnd(4)}  ${one.check}: ${one.text}\n`).join(''),
  );
  return findings.some(({ level }) => level === 'bad') ? EXIT.generic : EXIT.ok;
}
