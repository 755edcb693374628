import type { MasterOptions } from '@brine/config';
import { KeyStore } from '@brine/pki';
import { errorText } from '@brine/tasks';
import { type Finding, some } from '../findings/finding.ts';

/** The highest payload version (Salt: `minimum_auth_version`). */
const VERSION_MAX = 3;
const CHECK = 'raised_auth_version';

/** The payload version of each minion's newest log-in. */
export type LogInVersions = () => AsyncIterable<{ readonly id: string; readonly version: number }>;

/** The minions that each higher `minimum_auth_version` would cut off, by their last log-in. */
export async function checkVersions(
  options: MasterOptions,
  logIns: LogInVersions,
): Promise<Finding[]> {
  const current = options.minimumAuthVersion;
  if (current >= VERSION_MAX) return [];
  const listing = await new KeyStore(options.pkiDir).list().catch(() => undefined);
  const unseen = new Set(listing?.accepted);
  const versions: { readonly id: string; readonly version: number }[] = [];
  try {
    for await (const logIn of logIns()) if (unseen.delete(logIn.id)) versions.push(logIn);
  } catch (error) {
    const why = errorText(error);
    return [{ level: 'warn', check: CHECK, text: `it is unknown how minions log in: ${why}` }];
  }
  const findings: Finding[] = [];
  for (let raised = current + 1; raised <= VERSION_MAX; raised += 1) {
    const minions = versions.filter(({ version }) => version < raised).map(({ id }) => id);
    const what = `minimum_auth_version: ${raised} would cut off`;
    const text = minions.length === 0 ? 'none that logged in' : some(minions);
    const level = minions.length === 0 ? 'ok' : 'warn';
    findings.push({ level, check: CHECK, text: `${what} ${text}`, minions });
  }
  if (unseen.size > 0) {
    const minions = [...unseen];
    const text = `not on record since they last logged in: ${some(minions)}: not known`;
    findings.push({ level: 'warn', check: CHECK, text, minions });
  }
  return findings;
}
