import { createHash } from 'node:crypto';

/**
 * The Salt releases that Brine is tested against, oldest first. `payload` is the version of the
 * payloads that its minions send. `framing` is how its tools read the event socket
 * (salt/transport/ipc.py, tcp.py).
 */
export const SALT_RELEASES = [
  { version: '3006.5', line: '3006', payload: 2, framing: 'bare' },
  { version: '3006.26', line: '3006', payload: 3, framing: 'prefixed' },
  { version: '3006.30', line: '3006', payload: 3, framing: 'prefixed' },
  { version: '3007.13', line: '3007', payload: 3, framing: 'bare' },
  { version: '3007.17', line: '3007', payload: 3, framing: 'bare' },
  { version: '3008.2', line: '3008', payload: 3, framing: 'bare' },
  { version: '3008.5', line: '3008', payload: 3, framing: 'bare' },
] as const;

/** The facts of a release for tests. */
export type SaltRelease = (typeof SALT_RELEASES)[number];

/** The version of a release that Brine is tested against. */
export type SaltVersion = SaltRelease['version'];

/** A line of releases, as `3006`. */
export type SaltLine = SaltRelease['line'];

/** All releases, oldest first. */
export const SALT_VERSIONS: readonly SaltVersion[] = SALT_RELEASES.map(({ version }) => version);

/** The oldest release; its minions send payloads of version 2. */
export const OLDEST_SALT: SaltVersion = SALT_RELEASES[0].version;

/** The newest release of each line, oldest line first. */
export const NEWEST_SALTS: readonly SaltVersion[] = SALT_RELEASES.filter(
  ({ line }, index) => SALT_RELEASES[index + 1]?.line !== line,
).map(({ version }) => version);

/** The facts of a release for tests. */
export function releaseOf(version: SaltVersion): SaltRelease {
  const release = SALT_RELEASES.find((one) => one.version === version);
  if (release === undefined) throw new Error(`Salt ${version} is not in the table of releases`);
  return release;
}

/** The newest release of a line. */
export function newestOf(line: SaltLine): SaltVersion {
  const version = NEWEST_SALTS.find((one) => releaseOf(one).line === line);
  if (version === undefined) throw new Error(`no release of Salt ${line} in the table`);
  return version;
}

/** Builds Salt's source archive; setuptools 75 dropped a module that its setup needs. */
export const BUILD_PACKAGES = ['setuptools==74.1.3', 'wheel==0.45.1'] as const;

/**
 * The packages that Salt needs to run as master, minion and CLI, pinned. Salt's own list asks for
 * twice as many (cloud libraries, cherrypy, OpenTelemetry, …) and pins cryptography 48; 42 reads
 * the same keys and still loads the RSA calls of 3006.5.
 */
export const RUNTIME_PACKAGES = [
  'aiohttp==3.14.5',
  'croniter==7.0.0',
  'cryptography==42.0.8',
  'distro==1.9.0',
  'importlib-metadata==10.2.0',
  'jinja2==3.1.6',
  'jmespath==1.1.0',
  'looseversion==1.3.0',
  'markupsafe==3.0.4',
  'msgpack==1.2.4',
  'packaging==26.3',
  'psutil==7.2.2',
  // For the returner pgjsonb, which writes to PostgreSQL.
  'psycopg2-binary==2.9.13',
  'pycryptodomex==3.24.2',
  'python-dateutil==4.0.0',
  'pyyaml==6.0.3',
  'pyzmq==27.3.0',
  'requests==2.34.2',
  'tornado==6.6.1',
] as const;

/** Names the recipe: another list of packages gets another directory. */
export function recipeHash(python: string): string {
  const text = [python, ...BUILD_PACKAGES, ...RUNTIME_PACKAGES].join('\n');
  return createHash('sha256').update(text).digest('hex').slice(0, 10);
}
