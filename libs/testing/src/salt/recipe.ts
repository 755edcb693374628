import { createHash } from 'node:crypto';

/** The Salt releases that Brine is tried against. */
export const SALT_VERSIONS = ['3006.5', '3006.26', '3007.13', '3008.2'] as const;

/** One of the releases that Brine is tried against. */
export type SaltVersion = (typeof SALT_VERSIONS)[number];

/** What builds Salt's source archive; setuptools 75 dropped a module that its setup needs. */
export const BUILD_PACKAGES = ['setuptools==74.1.3', 'wheel==0.45.1'] as const;

/**
 * What Salt needs to run as master, minion and CLI, pinned. Salt's own list asks for twice as
 * many (cloud libraries, cherrypy, OpenTelemetry, …) and pins cryptography 48; 42 reads the
 * same keys and still loads the RSA calls of 3006.5.
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
  // What the returner pgjsonb writes to PostgreSQL with.
  'psycopg2-binary==2.9.13',
  'pycryptodomex==3.24.2',
  'python-dateutil==4.0.0',
  'pyyaml==6.0.3',
  'pyzmq==27.3.0',
  'requests==2.34.2',
  'tornado==6.6.1',
] as const;

/** Names the recipe: another list of packages gives another directory. */
export function recipeHash(python: string): string {
  const text = [python, ...BUILD_PACKAGES, ...RUNTIME_PACKAGES].join('\n');
  return createHash('sha256').update(text).digest('hex').slice(0, 10);
}
