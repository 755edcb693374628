import { parseArgs } from 'node:util';
import {
  ConfigError,
  type LoadedConfig,
  loadMasterConfig,
  type MasterOptions,
} from '@brine/config';
import { checkCertificates } from '../doctor/certificates.ts';
import { checkFiles } from '../doctor/files.ts';
import type { Finding } from '../doctor/finding.ts';
import { checkForce } from '../doctor/force.ts';
import { checkKeys } from '../doctor/keys.ts';
import { checkLimits } from '../doctor/limits.ts';
import { checkOptions } from '../doctor/options.ts';
import { checkVersions, type LogInVersions } from '../doctor/versions.ts';
import type { Terminal } from '../terminal.ts';

const HELP = `Usage: brine doctor [-c <config dir>] [--out json]

Looks for what opens a master of this host to others or will stop it: private files, keys, options,
exposed servers, clock, limits; and which options are not in force. Where the master runs, it lists
the minions that a raised minimum_auth_version would cut off. Ends with 1 where something is bad.
Changes nothing.
`;

/** How long a master that may not run is waited for. */
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
  ];
  const rank = { bad: 0, warn: 1, ok: 2 } as const;
  return findings.sort((one, other) => rank[one.level] - rank[other.level]);
}

/** `brine doctor`: prints what it finds. Resolves with the exit code. */
export async function runDoctor(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      'config-dir': { type: 'string', short: 'c' },
      out: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) {
    terminal.out(HELP);
    return 0;
  }
  let loaded: LoadedConfig<MasterOptions>;
  try {
    loaded = loadMasterConfig({ configDir: values['config-dir'] });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    terminal.err(`[ERROR   ] ${error.message}\n`);
    return 1;
  }
  const { openMasterLink } = await import('../master-link.ts');
  const { JobRecords } = await import('@brine/client');
  const link = openMasterLink(loaded.options, terminal, { timeoutMs: ASK_MS });
  const jobs = new JobRecords(link.client);
  const findings = await examine(loaded, () => jobs.logInVersions()).finally(() => link.close());
  terminal.out(
    values.out === 'json'
      ? `${JSON.stringify(findings, null, 4)}\n`
      : findings
          .map(({ level, check, text }) => `${level.padEnd(4)}  ${check}: ${text}\n`)
          .join(''),
  );
  return findings.some(({ level }) => level === 'bad') ? 1 : 0;
}
