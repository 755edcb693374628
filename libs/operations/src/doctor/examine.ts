import type { LoadedConfig, MasterOptions } from '@brine/config';
import { ownRelease } from '@brine/service';
import { checkForce } from '../findings/check-force.ts';
import type { Finding } from '../findings/finding.ts';
import { worstFirst } from '../findings/finding-lines.ts';
import { checkBackends } from './check-backends.ts';
import { checkCertificates } from './check-certificates.ts';
import { checkCluster } from './check-cluster.ts';
import { checkCrypto } from './check-crypto.ts';
import { checkDisks } from './check-disks.ts';
import { checkFiles } from './check-files.ts';
import { checkKeys } from './check-keys.ts';
import { checkLimits } from './check-limits.ts';
import { checkNode } from './check-node.ts';
import { checkOptions } from './check-options.ts';
import { checkPorts } from './check-ports.ts';
import { checkPostgres } from './check-postgres.ts';
import { checkStreams } from './check-streams.ts';
import { checkVersions, type LogInVersions } from './check-versions.ts';
import { type Facts, isSeen, type Unseen } from './facts/facts.ts';

/** All findings of the doctor, the worst first; running services only if `seen` is given. */
export async function examine(
  { options, warnings }: LoadedConfig<MasterOptions>,
  logIns: LogInVersions,
  seen?: Facts,
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

/** Checks running services. A missing answer is bad only if a master runs here. */
export function checkSeen(seen: Facts): Finding[] {
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
