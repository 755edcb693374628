import type { JobRecords } from '@brine/client';
import { loadMasterConfig, type MasterOptions } from '@brine/config';
import type { Finding } from '@brine/operations/findings';

/**
 * What the doctor finds on this host. It is loaded when it is first needed: it reaches all that a
 * master uses.
 */
export async function examineHost(
  options: MasterOptions,
  jobs: Pick<JobRecords, 'roll' | 'database' | 'logInVersions'>,
): Promise<readonly Finding[]> {
  const { examine, lookAtFacts } = await import('@brine/operations/doctor');
  const { warnings } = loadMasterConfig({ configDir: options.configDir });
  const facts = await lookAtFacts(options, jobs);
  return examine({ options, warnings }, () => jobs.logInVersions(), facts);
}
