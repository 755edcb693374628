import { JobRecords } from '@brine/client';
import {
  ConfigError,
  type LoadedConfig,
  loadMasterConfig,
  type MasterOptions,
} from '@brine/config';
import { ownRelease } from '@brine/service';
import { checkBackends } from '../doctor/check-backends.ts';
import { checkCertificates } from '../doctor/check-certificates.ts';
import { checkCluster } from '../doctor/check-cluster.ts';
import { checkCrypto } from '../doctor/check-crypto.ts';
import { checkDisks } from '../doctor/check-disks.ts';
import { checkFiles } from '../doctor/check-files.ts';
import { checkForce } from '../doctor/check-force.ts';
import { checkKeys } from '../doctor/check-keys.ts';
import { checkLimits } from '../doctor/check-limits.ts';
import { checkNode } from '../doctor/check-node.ts';
import { checkOptions } from '../doctor/check-options.ts';
import { checkPorts } from '../doctor/check-ports.ts';
import { checkPostgres } from '../doctor/check-postgres.ts';
import { checkStreams } from '../doctor/check-streams.ts';
import { checkVersions, type LogInVersions } from '../doctor/check-versions.ts';
import type { Finding } from '../doctor/finding.ts';
import { isSeen, look, type Seen, type Unseen } from '../doctor/look.ts';
import { examineBorders } from '../doctor/security/examine-borders.ts';
import { EXIT } from '../exit-codes.ts';
import { lookAtMaster } from '../look-at-master.ts';
import { flag, isOn, text, textValue } from '../options/command-form.ts';
import { brineForm } from '../options/common-groups.ts';
import { OptionParser } from '../options/option-parser.ts';
import { logLine, type Terminal } from '../terminal.ts';

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

/** How long to wait for the master, which may not run. */
const ASK_MS = 5_000;

/** Everything the doctor looks at, the worst first; what runs only where it was `seen`. */
export async function examine(
  { options, warnings }: LoadedConfig<MasterOptions>,
  logIns: LogInVersions,
  seen?: Seen,
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
    ...(seen === undefined ? [] : checkSeen(seen)),
  ];
  return worstFirst(findings);
}

function worstFirst(findings: Finding[]): Finding[] {
  const rank = { bad: 0, warn: 1, ok: 2 } as const;
  return findings.sort((one, other) => rank[one.level] - rank[other.level]);
}

/** One line for each finding. */
export function findingLines(findings: readonly Finding[]): string {
  return findings
    .map(({ level, check, text: line }) => `${level.padEnd(4)}  ${check}: ${line}\n`)
    .join('');
}

/** What runs. What can not be asked is bad only where a master runs here and should answer. */
export function checkSeen(seen: Seen): Finding[] {
  const { runs, disks, ports, cluster, silent, streams, database, backends } = seen;
  const ask = <T extends object>(
    check: string,
    one: T | Unseen,
    judge: (facts: T) => Finding[],
  ): Finding[] => {
    if (isSeen(one)) return judge(one);
    const hint = runs
      ? 'see `brine status`, and run this as the user of the master'
      : 'run this where a master runs';
    return [{ level: runs ? 'bad' : 'warn', check, text: `not looked at: ${one.unseen}; ${hint}` }];
  };
  return [
    ...checkDisks(disks),
    ...checkPorts(ports, runs),
    ...ask('services', cluster, (facts) => checkCluster(facts, silent, ownRelease())),
    ...ask('streams', streams, checkStreams),
    ...ask('postgres', database, checkPostgres),
    ...checkBackends(backends),
  ];
}

/** `brine doctor`: prints what it finds. Gives the exit code. */
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
    const seen = await look(loaded.options, jobs);
    return await examine(loaded, () => jobs.logInVersions(), seen);
  } finally {
    await master.close();
  }
}
