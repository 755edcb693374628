import { basename, dirname } from 'node:path';
import { programOf } from './program-of.ts';
import type { ServiceSpec } from './service-process.ts';

/** The services of a master, by the name of their app. */
export const MASTER_SERVICES = [
  'event-bus',
  'job-cache-returner',
  'worker-pool',
  'runner-pool',
  'publisher',
  'req-gateway',
  'syndic-relay',
  'http-api',
] as const;

/** The name of a service. */
export type MasterServiceName = (typeof MASTER_SERVICES)[number];

/**
 * The owner of the streams starts first, then the workers, then the services that accept
 * connections: no client gets in before a worker can answer. Stopping goes the other way round.
 */
const STAGES: Readonly<Record<MasterServiceName, number>> = {
  'event-bus': 0,
  'job-cache-returner': 1,
  'worker-pool': 1,
  'runner-pool': 1,
  publisher: 1,
  'req-gateway': 2,
  'syndic-relay': 2,
  'http-api': 2,
};

/** The input of the table of services. */
export interface MasterServicesSettings {
  /** The directory of the apps. */
  readonly appsDir: string;
  /** The configuration that was read. */
  readonly confFile: string;
  readonly workers: number;
  readonly runners: number;
  /** Lowest level that a process writes, by its name; default from the configuration. */
  readonly logLevel?: ((name: string) => string) | undefined;
  /** NATS for a service; each may have a user of its own. */
  readonly natsUrl: (service: MasterServiceName) => string;
  readonly databaseUrl: string;
  readonly host: string;
  /** Added to every service's environment. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** The processes of a whole master on one host. Only the returner gets DATABASE_URL. */
export function masterServices(settings: MasterServicesSettings): ServiceSpec[] {
  return MASTER_SERVICES.flatMap((service) => {
    const count = countOf(service, settings);
    return Array.from({ length: count }, (_, index) =>
      specOf(service, count === 1 ? service : `${service}-${index + 1}`, settings),
    );
  });
}

function countOf(
  service: MasterServiceName,
  { workers, runners }: Pick<MasterServicesSettings, 'workers' | 'runners'>,
): number {
  if (service === 'worker-pool') return workers;
  return service === 'runner-pool' ? runners : 1;
}

function specOf(
  service: MasterServiceName,
  name: string,
  settings: MasterServicesSettings,
): ServiceSpec {
  const { appsDir, confFile, logLevel, databaseUrl, host } = settings;
  const configDir = dirname(confFile);
  // `-c` names a directory and means the file `master` there.
  const isNamed = basename(confFile) !== 'master';
  return {
    name,
    entry: programOf(appsDir, service),
    args: [
      ...(isNamed ? [] : ['-c', configDir]),
      ...(logLevel === undefined ? [] : ['-l', logLevel(name)]),
    ],
    env: {
      ...settings.env,
      BRINE_CONFIG_DIR: configDir,
      ...(isNamed ? { SALT_MASTER_CONFIG: confFile } : {}),
      BRINE_HOST: host,
      // Services on one host can not share a port; health_ports names them one by one.
      BRINE_HEALTH_PORT: '0',
      NATS_URL: settings.natsUrl(service),
      DATABASE_URL: service === 'job-cache-returner' ? databaseUrl : '',
    },
    stage: STAGES[service],
    // Event sockets, key files and the drop file of a host are for one process at a time.
    ...(service === 'event-bus' ? { yieldsFirst: true } : {}),
  };
}
