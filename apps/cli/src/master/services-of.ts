import { fileURLToPath } from 'node:url';
import type { MasterOptions } from '@brine/config';
import type { masterServices } from '@brine/service/processes';

type Settings = Parameters<typeof masterServices>[0];

const APPS = fileURLToPath(new URL('../../../', import.meta.url));

/** The definitions of the services of this master. */
export function servicesOf(
  options: MasterOptions,
  given: Pick<Settings, 'natsUrl' | 'databaseUrl' | 'logLevel' | 'env'>,
): Settings {
  return {
    appsDir: APPS,
    confFile: options.confFile,
    workers: options.brine.workers,
    runners: options.brine.runners,
    host: options.brine.host,
    ...given,
  };
}
