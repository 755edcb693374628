import { lookupUser } from '@brine/cachedir';
import type { LoadedConfig, MasterOptions } from '@brine/config';
import { knownSecrets } from '@brine/config/reference';
import { livingSupervisor, readState } from '@brine/service/processes';
import type { Finding } from '../../findings/finding.ts';
import { secretsOfHost } from '../../secrets/secrets-of-host.ts';
import { checkCertificates } from '../check-certificates.ts';
import { checkFiles } from '../check-files.ts';
import { checkKeys } from '../check-keys.ts';
import { checkOptions } from '../check-options.ts';
import { checkConfiguration } from './check-configuration.ts';
import { checkModes, type MasterOwner } from './check-modes.ts';
import { checkProcesses } from './check-processes.ts';
import { checkServerUsers } from './check-server-users.ts';
import { checkWidened } from './check-widened.ts';
import { masterProcesses } from './processes.ts';

/**
 * Examines the borders of this host's master from outside: files, processes, listeners, users of
 * its servers, and options that allow more than the defaults. Changes nothing.
 */
export async function examineBorders(
  { options }: LoadedConfig<MasterOptions>,
  location: { readonly configDir?: string | undefined },
): Promise<Finding[]> {
  const owner = await ownerOf(options);
  const passwords = knownSecrets(location).map(({ option }) => option);
  return [
    ...(await checkFiles(options)),
    ...(await checkModes(options, owner)),
    ...(await checkConfiguration(options, [...new Set(passwords)], owner)),
    ...(await checkRunning(options, location, owner)),
    ...(await checkServerUsers(options)),
    ...(await checkKeys(options)),
    ...(await checkCertificates(options)),
    ...checkOptions(options),
    ...(await checkWidened(options)),
  ];
}

async function ownerOf({ user }: MasterOptions): Promise<MasterOwner | undefined> {
  const [uid, gid] = [process.getuid?.(), process.getgid?.()];
  if (uid !== undefined && gid !== undefined && user === String(uid)) return { uid, gid };
  return lookupUser(user);
}

async function checkRunning(
  options: MasterOptions,
  location: { readonly configDir?: string | undefined },
  owner: MasterOwner | undefined,
): Promise<Finding[]> {
  const state = readState(options.brine.stateDir);
  if (state === undefined || livingSupervisor(state) === undefined) {
    const text = 'no master runs here: environments and sockets were not looked at';
    return [{ level: 'warn', check: 'processes', text }];
  }
  const { secrets } = await secretsOfHost(options, location);
  return checkProcesses(await masterProcesses(state), options, secrets, owner);
}
