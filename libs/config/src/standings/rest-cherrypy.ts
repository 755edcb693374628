import { nearestName } from '../did-you-mean.ts';
import { type ConfigMap, type ConfigValue, isConfigMap, isList, Misfit } from '../option.ts';
import { partly, type Standing } from '../standing.ts';

/** The value of `rest_cherrypy`, read. */
export interface RestCherrypyOptions {
  /** Undefined: the API is only at `brine.http`. */
  readonly address: RestAddress | undefined;
  /** Without a slash at its end; empty for the root. */
  readonly rootPrefix: string;
  /** The file of a single-page application, and its path. */
  readonly app: string | undefined;
  readonly appPath: string;
  /** A directory of files, and its path. */
  readonly staticDir: string | undefined;
  readonly staticPath: string;
  readonly favicon: string | undefined;
  /** The path of web hooks. */
  readonly webhookPath: string;
  readonly webhookDisableAuth: boolean;
  readonly statsDisableAuth: boolean;
  readonly enableSessions: boolean;
  readonly bodyMaxBytes: number | undefined;
  /** Addresses that users may log in from; undefined: from all. */
  readonly apiAcl: ApiAcl | undefined;
  /** Addresses that may use the API at all; empty: all. */
  readonly authorizedIps: readonly string[];
}

/** Where a stock salt-api would listen. */
export interface RestAddress {
  readonly host: string;
  readonly port: number;
  readonly tls?: { readonly crt: string; readonly key: string; readonly chain?: string };
}

/** Addresses by user; `*` for users without an entry. */
export type ApiAcl = ReadonlyMap<string, readonly string[]>;

/** A value within `rest_cherrypy` in another form. */
class RestMisfit extends Error {}

const SERVED: ReadonlySet<string> = new Set([
  'host',
  'port',
  'disable_ssl',
  'ssl_crt',
  'ssl_key',
  'ssl_chain',
  'root_prefix',
  'app',
  'app_path',
  'static',
  'static_path',
  'favicon',
  'webhook_url',
  'webhook_disable_auth',
  'stats_disable_auth',
  'enable_sessions',
  'max_request_body_size',
  'api_acl',
  'authorized_ips',
]);

const OF_ITS_SERVER = 'it is for the web server of a stock salt-api, which Brine does not use';
const OF_ITS_LOG = 'http-api has the log of the services';

/** Options within `rest_cherrypy` without effect here. */
const UNUSED: ReadonlyMap<string, Pick<Standing, 'kind' | 'text'>> = new Map([
  ['thread_pool', { kind: 'harmless', text: OF_ITS_SERVER }],
  ['queue_size', { kind: 'harmless', text: OF_ITS_SERVER }],
  ['expire_responses', { kind: 'harmless', text: OF_ITS_SERVER }],
  ['collect_stats', { kind: 'harmless', text: 'Brine always counts what /stats shows' }],
  ['debug', { kind: 'ignored', text: OF_ITS_LOG }],
  ['log_access_file', { kind: 'ignored', text: OF_ITS_LOG }],
  ['log_error_file', { kind: 'ignored', text: OF_ITS_LOG }],
]);

const TLS_NEEDED =
  'it is served only with ssl_crt and ssl_key, or with disable_ssl: True; as a stock salt-api, ' +
  'Brine does not listen there without';

/** Addresses of the API that no option may take. */
const OWN_PATHS: ReadonlySet<string> = new Set([
  '',
  '/login',
  '/logout',
  '/token',
  '/minions',
  '/jobs',
  '/run',
  '/keys',
  '/events',
  '/ws',
  '/stats',
  '/console',
  '/v1',
]);

/** Names within the value that are not in force; `port` where it lacks TLS. */
export const restCherrypyStanding: Standing = partly({}, 'only what that page lists counts', {
  lost: (value) => {
    if (!isConfigMap(value)) return [];
    const unused = Object.keys(value).filter((name) => !SERVED.has(name));
    return lacksTls(value) ? ['port', ...unused] : unused;
  },
  of: (part) => {
    if (part === 'port') return { kind: 'ignored', text: TLS_NEEDED };
    const known = UNUSED.get(part);
    if (known !== undefined) return known;
    const nearest = nearestName(part, [...SERVED, ...UNUSED.keys()]);
    const hint = nearest === undefined ? '' : `; did you mean '${nearest}'?`;
    return { kind: 'ignored', text: `Salt has no such option${hint}` };
  },
});

/** The form of `rest_cherrypy`, to be checked when it is loaded. */
export function restCherrypyMisfit(value: ConfigMap): Misfit | undefined {
  try {
    readRestCherrypy(value);
    return undefined;
  } catch (error) {
    if (error instanceof RestMisfit) return new Misfit(`a map in which ${error.message}`);
    throw error;
  }
}

/**
 * Reads the value of `rest_cherrypy` (salt/netapi/rest_cherrypy/__init__.py, app.py get_conf). A
 * loaded configuration has no other form.
 */
export function readRestCherrypy(given: ConfigMap): RestCherrypyOptions {
  const paths = ownPathsIn(given, {
    app_path: '/app',
    static_path: '/static',
    webhook_url: '/hook',
  });
  return {
    address: addressIn(given),
    rootPrefix: pathIn(given, 'root_prefix', ''),
    app: textIn(given, 'app'),
    appPath: paths.app_path,
    staticDir: textIn(given, 'static'),
    staticPath: paths.static_path,
    favicon: textIn(given, 'favicon'),
    webhookPath: paths.webhook_url,
    webhookDisableAuth: flagIn(given, 'webhook_disable_auth', false),
    statsDisableAuth: flagIn(given, 'stats_disable_auth', false),
    enableSessions: flagIn(given, 'enable_sessions', true),
    // As CherryPy reads it: 0 is no bound, so only Brine's own remains.
    bodyMaxBytes: numberIn(given, 'max_request_body_size', 0, Number.MAX_SAFE_INTEGER) || undefined,
    apiAcl: aclIn(given),
    authorizedIps: textsOf(given['authorized_ips'], 'authorized_ips'),
  };
}

function addressIn(given: ConfigMap): RestAddress | undefined {
  const port = numberIn(given, 'port', 1, 65_535);
  const host = textIn(given, 'host') ?? '0.0.0.0';
  const [crt, key, chain] = ['ssl_crt', 'ssl_key', 'ssl_chain'].map((name) => textIn(given, name));
  const isPlain = flagIn(given, 'disable_ssl', false);
  if (port === undefined || lacksTls(given)) return undefined;
  if (isPlain || crt === undefined || key === undefined) return { host, port };
  return { host, port, tls: { crt, key, ...(chain === undefined ? {} : { chain }) } };
}

function lacksTls(given: ConfigMap): boolean {
  const isMissing = ['ssl_crt', 'ssl_key'].some((name) => (given[name] ?? null) === null);
  return (given['port'] ?? null) !== null && given['disable_ssl'] !== true && isMissing;
}

function misfit(name: string, wanted: string): Error {
  return new RestMisfit(`${name} is ${wanted}`);
}

function textIn(given: ConfigMap, name: string): string | undefined {
  const value = given[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string' || value === '') throw misfit(name, 'a text');
  return value;
}

function numberIn(given: ConfigMap, name: string, min: number, max: number): number | undefined {
  const value = given[name];
  if (value === undefined || value === null) return undefined;
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isInteger(number) || number < min || number > max) {
    throw misfit(name, `a whole number from ${min} to ${max}`);
  }
  return number;
}

function flagIn(given: ConfigMap, name: string, preset: boolean): boolean {
  const value = given[name];
  if (value === undefined || value === null) return preset;
  if (typeof value !== 'boolean') throw misfit(name, 'true or false');
  return value;
}

function textsOf(value: ConfigValue | undefined, name: string): readonly string[] {
  const list = typeof value === 'string' ? [value] : (value ?? []);
  if (!isList(list) || !list.every((one) => typeof one === 'string')) {
    throw misfit(name, 'a list of texts');
  }
  return list;
}

function aclIn(given: ConfigMap): ApiAcl | undefined {
  const value = given['api_acl'];
  if (value === undefined || value === null) return undefined;
  const users = isConfigMap(value) ? (value['users'] ?? {}) : undefined;
  if (!isConfigMap(users)) throw misfit('api_acl', 'a map with a map users');
  const lists = Object.entries(users).map(
    ([user, list]) => [user, textsOf(list, `the entry of ${user} in api_acl`)] as const,
  );
  // Without users Salt refuses all: the list is there, and has no entry.
  return new Map(lists);
}

/** Parts of an address; the others have a meaning for the router, or for URLs. */
const PATH = /^(?:\/[\w.~@$!+,;=-]+)*$/;

function pathIn(given: ConfigMap, name: string, preset: string): string {
  const bare = (textIn(given, name) ?? preset).replace(/^\/+|\/+$/g, '');
  const path = bare === '' ? '' : `/${bare}`;
  if (!PATH.test(path)) throw misfit(name, 'a path of an address');
  return path;
}

/** Paths that no address of the API has, nor any of the others. */
function ownPathsIn<T extends Readonly<Record<string, string>>>(
  given: ConfigMap,
  presets: T,
): { readonly [name in keyof T]: string } {
  const paths: Record<string, string> = {};
  for (const [name, preset] of Object.entries(presets)) {
    const path = pathIn(given, name, preset);
    if (OWN_PATHS.has(path)) throw misfit(name, 'a path that the API does not use itself');
    if (Object.values(paths).includes(path)) throw misfit(name, 'a path that no other option has');
    paths[name] = path;
  }
  return paths as { readonly [name in keyof T]: string };
}
