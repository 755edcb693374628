/** The options of `rest_cherrypy` that Brine serves; the names of others are in `unused`. */
export interface RestCherrypyOptions {
  /** Undefined: the API is only at `brine.http`. */
  readonly address: RestAddress | undefined;
  /** Why it is not served at the address that the options name. */
  readonly refusal: string | undefined;
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
  /** Addresses that users may come from; undefined: from all. */
  readonly apiAcl: ApiAcl | undefined;
  /** Addresses that may use the API at all; empty: all. */
  readonly authorizedIps: readonly string[];
  readonly unused: readonly string[];
}

/** Where a stock salt-api would listen. */
export interface RestAddress {
  readonly host: string;
  readonly port: number;
  readonly tls?: { readonly crt: string; readonly key: string; readonly chain?: string };
}

/** Addresses by user; `*` for users without an entry. */
export type ApiAcl = ReadonlyMap<string, readonly string[]>;

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

/** Options of the web server of a stock salt-api, without a meaning here. */
const HARMLESS: ReadonlySet<string> = new Set([
  'thread_pool',
  'queue_size',
  'socket_queue_size',
  'expire_responses',
  'collect_stats',
]);

const TLS_NEEDED =
  "Options 'ssl_crt' and 'ssl_key' are required if SSL is not disabled (disable_ssl)";

type Given = Readonly<Record<string, unknown>>;

/**
 * Reads the value of `rest_cherrypy` (salt/netapi/rest_cherrypy/__init__.py, app.py get_conf).
 * @throws Error for a value in another form, with its name
 */
export function readRestCherrypy(given: Given): RestCherrypyOptions {
  const port = numberIn(given, 'port');
  const [crt, key, chain] = ['ssl_crt', 'ssl_key', 'ssl_chain'].map((name) => textIn(given, name));
  const isPlain = flagIn(given, 'disable_ssl', false);
  const hasTls = crt !== undefined && key !== undefined;
  const refusal = port !== undefined && !isPlain && !hasTls ? TLS_NEEDED : undefined;
  const tls =
    hasTls && !isPlain ? { crt, key, ...(chain === undefined ? {} : { chain }) } : undefined;
  const host = textIn(given, 'host') ?? '0.0.0.0';
  return {
    address:
      port === undefined || refusal !== undefined
        ? undefined
        : { host, port, ...(tls === undefined ? {} : { tls }) },
    refusal,
    rootPrefix: pathOf(textIn(given, 'root_prefix') ?? ''),
    app: textIn(given, 'app'),
    appPath: pathOf(textIn(given, 'app_path') ?? '/app'),
    staticDir: textIn(given, 'static'),
    staticPath: pathOf(textIn(given, 'static_path') ?? '/static'),
    favicon: textIn(given, 'favicon'),
    webhookPath: pathOf(textIn(given, 'webhook_url') ?? '/hook'),
    webhookDisableAuth: flagIn(given, 'webhook_disable_auth', false),
    statsDisableAuth: flagIn(given, 'stats_disable_auth', false),
    enableSessions: flagIn(given, 'enable_sessions', true),
    bodyMaxBytes: numberIn(given, 'max_request_body_size'),
    apiAcl: aclIn(given),
    authorizedIps: textsOf(given['authorized_ips'], 'authorized_ips'),
    unused: Object.keys(given).filter((name) => !SERVED.has(name) && !HARMLESS.has(name)),
  };
}

/**
 * True if a user may log in from an address (salt/netapi/rest_cherrypy/app.py salt_api_acl_tool).
 */
export function mayComeFrom(acl: ApiAcl | undefined, user: string, address: string): boolean {
  if (acl === undefined) return true;
  const list = acl.get(user) ?? acl.get('*');
  return list !== undefined && (list.includes(address) || list.includes('*'));
}

function misfit(name: string, wanted: string): Error {
  return new Error(`rest_cherrypy: ${name} is not ${wanted}`);
}

function textIn(given: Given, name: string): string | undefined {
  const value = given[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw misfit(name, 'a text');
  return value;
}

function numberIn(given: Given, name: string): number | undefined {
  const value = given[name];
  if (value === undefined || value === null) return undefined;
  const number = typeof value === 'string' ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isInteger(number) || number < 0) {
    throw misfit(name, 'a number');
  }
  return number;
}

function flagIn(given: Given, name: string, preset: boolean): boolean {
  const value = given[name];
  if (value === undefined || value === null) return preset;
  if (typeof value !== 'boolean') throw misfit(name, 'true or false');
  return value;
}

function textsOf(value: unknown, name: string): readonly string[] {
  const list = typeof value === 'string' ? [value] : (value ?? []);
  if (!Array.isArray(list) || !list.every((one) => typeof one === 'string')) {
    throw misfit(name, 'a list of texts');
  }
  return list;
}

function aclIn(given: Given): ApiAcl | undefined {
  const value = given['api_acl'];
  if (value === undefined || value === null) return undefined;
  const { users = {} } = value as { users?: unknown };
  if (typeof users !== 'object' || users === null) throw misfit('api_acl', 'a map with users');
  const lists = Object.entries(users).map(
    ([user, list]) => [user, textsOf(list, `api_acl of ${user}`)] as const,
  );
  // Without users Salt refuses all: the list is there, and has no entry.
  return new Map(lists);
}

function pathOf(text: string): string {
  const bare = text.replace(/^\/+|\/+$/g, '');
  return bare === '' ? '' : `/${bare}`;
}
