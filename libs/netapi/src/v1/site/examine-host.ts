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
  const findings = await examine({ options, warnings }, () => jobs.logInVersions(), facts);
  const mayAsk = 'unseen' in facts.streams || !isRefused(facts.streams.unknown['STREAM.LIST']);
  if (mayAsk) return findings;
  return [...findings.filter(({ check }) => check !== 'streams'), NOT_ASKED];
}

/** The NATS user of http-api may not list streams: that is no trouble. */
function isRefused(why = ''): boolean {
  return why.startsWith('not allowed to publish');
}

const NOT_ASKED: Finding = {
  level: 'ok',
  check: 'streams',
  text: 'not looked at from here: run `brine doctor` on the host',
};
