import type { ServiceName } from '@brine/bus';
import { SERVER_NAME } from '@brine/bus';
import { CERTIFICATE_FILES } from '@brine/crypt';
import { accounts } from './accounts.ts';
import { quote, quoteUnlessVariable } from './quote.ts';

/**
 * How much a power cut may lose: `100ms`, `2m` (the default of NATS), or `always`, which syncs
 * before each acknowledgement and makes single messages 15 to 23 times dearer.
 */
export type SyncInterval = '100ms' | '2m' | 'always';

/** The settings for a server of a cluster. */
export interface NatsClusterOptions {
  readonly name: string;
  /** The address for other servers; default 127.0.0.1. */
  readonly host?: string;
  readonly port: number;
  /** URLs of all servers, also its own, or `$NAME`. */
  readonly routes: readonly string[];
}

/** The variable part of a NATS server's configuration. */
export interface NatsConfOptions {
  /** The address to listen on; default 127.0.0.1. */
  readonly host?: string;
  /** -1 for any free port. */
  readonly port: number;
  /** Port of its HTTP monitoring; none if not given. */
  readonly monitorPort?: number;
  readonly storeDir: string;
  /** Disk for all streams together, in bytes. */
  readonly maxFileStore?: number;
  /** In bytes; default 64 MiB. */
  readonly maxMemoryStore?: number;
  /** Passwords of the services, for a server on loopback. This, or `certificates`. */
  readonly passwords?: Readonly<Record<ServiceName, string>>;
  /**
   * Directory with the server's certificate, as `brine pki` makes it. The server then demands TLS,
   * and the name in a client's certificate is its user.
   */
  readonly certificates?: string;
  /** How often the server syncs its files to the disk; default `100ms`. */
  readonly syncInterval?: SyncInterval;
  /** Unique in a cluster; default `brine`. With `$NAME`, taken from the environment. */
  readonly serverName?: string;
  /** The servers that share its streams; none if not given. */
  readonly cluster?: NatsClusterOptions;
  /** Where the server writes its ports. */
  readonly portsFileDir?: string;
}

const MIB = 1_048_576;

/**
 * The configuration of a NATS server for Brine, in the server's own format: with passwords for the
 * server that is started as a child, with certificates in `infra`.
 * @throws RangeError for both or none of passwords and certificates, and for a cluster without
 *   certificates.
 */
export function natsConf(options: NatsConfOptions): string {
  const { certificates } = options;
  if ((options.passwords === undefined) === (certificates === undefined)) {
    throw new RangeError('a NATS server needs passwords or certificates');
  }
  if (options.cluster !== undefined && certificates === undefined) {
    throw new RangeError('the servers of a NATS cluster need certificates');
  }
  const maxFile =
    options.maxFileStore === undefined ? [] : [`  max_file_store: ${options.maxFileStore}`];
  return [
    '# Made by @brine/bus, natsConf().',
    `server_name: ${quoteUnlessVariable(options.serverName ?? 'brine')}`,
    `host: ${quote(options.host ?? '127.0.0.1')}`,
    `port: ${options.port}`,
    ...(options.monitorPort === undefined ? [] : [`http: "127.0.0.1:${options.monitorPort}"`]),
    ...(options.portsFileDir === undefined
      ? []
      : [`ports_file_dir: ${quote(options.portsFileDir)}`]),
    '',
    '# Bodies above 256 KB go in pieces of 1 MB; this leaves room for the head of a message.',
    `max_payload: ${8 * MIB}`,
    '# What may wait for one slow client before it is cut off.',
    `max_pending: ${128 * MIB}`,
    '# A stopped client is dropped after about 6 s, not after 4 minutes.',
    'ping_interval: "2s"',
    'ping_max: 2',
    'write_deadline: "5s"',
    '',
    'jetstream {',
    `  store_dir: ${quote(options.storeDir)}`,
    `  max_memory_store: ${options.maxMemoryStore ?? 64 * MIB}`,
    ...maxFile,
    '  # kill -9 loses nothing; with 100ms a power cut at most the last 0.1 to 0.2 s.',
    `  sync_interval: ${quote(options.syncInterval ?? '100ms')}`,
    '}',
    '',
    ...(certificates === undefined
      ? []
      : [
          '# The name in the certificate of a client is its user; there are no passwords.',
          ...tls(certificates),
          '',
        ]),
    ...(options.cluster === undefined ? [] : cluster(options.cluster, certificates ?? '')),
    ...accounts(options.passwords),
    '',
  ].join('\n');
}

/** `verify_and_map`: the authority has to have signed it, and its alternative name is the user. */
function tls(certificates: string): readonly string[] {
  const file = (kind: keyof typeof CERTIFICATE_FILES): string =>
    quote(`${certificates}/${CERTIFICATE_FILES[kind]}`);
  return [
    'tls {',
    `  ca_file: ${file('roots')}`,
    `  cert_file: ${file('certificate')}`,
    `  key_file: ${file('key')}`,
    '  verify_and_map: true',
    '  min_version: "1.3"',
    '  timeout: 5',
    '}',
  ];
}

function cluster(options: NatsClusterOptions, certificates: string): readonly string[] {
  return [
    'cluster {',
    `  name: ${quote(options.name)}`,
    `  listen: ${quote(`${options.host ?? '127.0.0.1'}:${options.port}`)}`,
    `  authorization { user: ${quote(SERVER_NAME)} }`,
    ...tls(certificates).map((line) => `  ${line}`),
    '  routes: [',
    ...options.routes.map((route) => `    ${quoteUnlessVariable(route)}`),
    '  ]',
    '}',
    '',
  ];
}
