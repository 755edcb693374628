import { type GitAccess, maySendPassword } from '@brine/git';

/** The root and the mount point of a remote for one environment. */
export interface EnvConfig {
  readonly ref?: string;
  readonly root?: string;
  readonly mountpoint?: string;
}

/** Kinds of refs that may be environments. */
export type RefType = 'branch' | 'tag' | 'sha';

/** An entry of `gitfs_remotes`, with its defaults from the global options. */
export interface RemoteConfig extends GitAccess {
  readonly url: string;
  /** Names the cache of this remote if two have the same URL. */
  readonly name?: string;
  /** Branch or tag of the environment `base`. */
  readonly base: string;
  readonly fallback: string;
  readonly mountpoint: string;
  readonly root: string;
  /** This ref serves all environments. */
  readonly allSaltenvs?: string;
  readonly saltenvs: Readonly<Record<string, EnvConfig>>;
  readonly saltenvWhitelist: readonly string[];
  readonly saltenvBlacklist: readonly string[];
  readonly disableSaltenvMapping: boolean;
  readonly refTypes: readonly RefType[];
  readonly refspecs: readonly string[];
  /** Seconds. */
  readonly updateInterval: number;
  /** Commits fetched of each ref; 0: all. */
  readonly depth: number;
}

/** An invalid option of gitfs; the message names remote and option. */
export class GitConfigError extends Error {
  override readonly name = 'GitConfigError';
  readonly code = 'FILESERVER_GIT_CONFIG';
}

/** Values of options as a YAML file has them. */
export type Options = Readonly<Record<string, unknown>>;

const PER_REMOTE = [
  ...['base', 'fallback', 'mountpoint', 'root', 'ssl_verify', 'saltenv_whitelist'],
  ...['saltenv_blacklist', 'refspecs', 'disable_saltenv_mapping', 'ref_types', 'update_interval'],
  ...['proxy', 'depth', 'user', 'password', 'insecure_auth', 'privkey', 'pubkey', 'passphrase'],
  ...['all_saltenvs', 'name', 'saltenv'],
];

/**
 * Reads `gitfs_remotes`. `globals` are the options without the prefix `gitfs_`, complete; a remote
 * may override each (salt/utils/gitfs.py, salt/fileserver/gitfs.py).
 * @throws GitConfigError
 */
export function readRemotes(remotes: readonly unknown[], globals: Options): RemoteConfig[] {
  return remotes.map((remote) => {
    if (typeof remote === 'string') return readRemote(remote, {}, globals);
    const [only, ...more] = Object.entries(tableOf(remote, 'gitfs_remotes'));
    if (only === undefined || more.length > 0) {
      throw new GitConfigError('gitfs_remotes: each entry is a URL, or one URL with options');
    }
    return readRemote(only[0], tableOf(only[1], only[0]), globals);
  });
}

function readRemote(url: string, own: Options, globals: Options): RemoteConfig {
  const unknown = Object.keys(own).find((name) => !PER_REMOTE.includes(name));
  if (unknown !== undefined) throw new GitConfigError(`${url}: there is no option ${unknown}`);
  if (url === '' || url.startsWith('-')) throw new GitConfigError(`${url}: not a URL`);
  const option = (name: string): unknown => own[name] ?? globals[name];
  const text = (name: string): string => textOf(option(name), url, name);
  const list = (name: string): string[] => listOf(option(name), url, name);
  if (text('passphrase') !== '') {
    throw new GitConfigError(`${url}: a key with a passphrase needs an ssh-agent`);
  }
  const insecureAuth = isOpened(option('insecure_auth'));
  if (text('user') !== '' && text('password') !== '' && !maySendPassword(url, insecureAuth)) {
    throw new GitConfigError(`${url}: user and password go over https only (insecure_auth)`);
  }
  const ownEnvs = envsOf(own['saltenv'], url);
  const globalEnvs = envsOf(globals['saltenv'], url);
  const saltenvs = mergeEnvs(globalEnvs, ownEnvs);
  const allSaltenvs = own['all_saltenvs'];
  return {
    url,
    ...(own['name'] === undefined ? {} : { name: textOf(own['name'], url, 'name') }),
    ...(allSaltenvs === undefined ? {} : { allSaltenvs: textOf(allSaltenvs, url, 'all_saltenvs') }),
    // A `ref` of the environment base precedes `base` (only if the remote sets it).
    base: ownEnvs['base']?.ref ?? text('base'),
    fallback: text('fallback'),
    mountpoint: pathOf(text('mountpoint')),
    root: pathOf(text('root')),
    saltenvs,
    saltenvWhitelist: list('saltenv_whitelist'),
    saltenvBlacklist: list('saltenv_blacklist'),
    disableSaltenvMapping: isOn(option('disable_saltenv_mapping')),
    refTypes: list('ref_types').map((type) => refTypeOf(type, url)),
    refspecs: list('refspecs'),
    updateInterval: numberOf(option('update_interval'), url, 'update_interval'),
    depth: numberOf(option('depth'), url, 'depth'),
    sslVerify: isOn(option('ssl_verify')),
    proxy: text('proxy'),
    user: text('user'),
    password: text('password'),
    insecureAuth,
    privkey: text('privkey'),
  };
}

const NO: ReadonlySet<string> = new Set(['false', 'no', 'off', '0']);

/** Reads a switch of a remote as Python does: an empty value is off, any other is on. */
function isOn(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

/** A switch that allows something: a text for no is off too. */
function isOpened(value: unknown): boolean {
  return isOn(value) && !(typeof value === 'string' && NO.has(value.toLowerCase()));
}

function envsOf(value: unknown, url: string): Record<string, EnvConfig> {
  const envs: Record<string, EnvConfig> = {};
  for (const [env, entry] of Object.entries(tableOf(value ?? {}, `${url}: saltenv`))) {
    const config = tableOf(entry, `${url}: saltenv ${env}`);
    const { ref, root, mountpoint } = config;
    envs[env] = {
      ...(ref === undefined ? {} : { ref: textOf(ref, url, 'ref') }),
      ...(root === undefined ? {} : { root: pathOf(textOf(root, url, 'root')) }),
      ...(mountpoint === undefined
        ? {}
        : { mountpoint: pathOf(textOf(mountpoint, url, 'mountpoint')) }),
    };
  }
  return envs;
}

function mergeEnvs(
  below: Readonly<Record<string, EnvConfig>>,
  above: Readonly<Record<string, EnvConfig>>,
): Record<string, EnvConfig> {
  const merged: Record<string, EnvConfig> = { ...below };
  for (const [env, config] of Object.entries(above)) merged[env] = { ...merged[env], ...config };
  return merged;
}

/** Joins a list of one-key maps into a map (salt/utils/data.py `repack_dictlist`). */
function tableOf(value: unknown, what: string): Record<string, unknown> {
  const parts: unknown[] = Array.isArray(value) ? value : [value];
  const table: Record<string, unknown> = {};
  for (const part of parts) {
    if (typeof part !== 'object' || part === null) throw new GitConfigError(`${what}: not a map`);
    Object.assign(table, part);
  }
  return table;
}

function textOf(value: unknown, url: string, name: string): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  throw new GitConfigError(`${url}: ${name} is not a text`);
}

function listOf(value: unknown, url: string, name: string): string[] {
  const items: unknown[] = Array.isArray(value) ? value : textOf(value, url, name).split(',');
  return items.map((item) => textOf(item, url, name).trim()).filter((item) => item !== '');
}

function numberOf(value: unknown, url: string, name: string): number {
  const number = Number(value ?? 0);
  if (!Number.isInteger(number) || number < 0) {
    throw new GitConfigError(`${url}: ${name} is not a whole number`);
  }
  return number;
}

function refTypeOf(type: string, url: string): RefType {
  const found = (['branch', 'tag', 'sha'] as const).find((known) => known === type.toLowerCase());
  if (found === undefined) throw new GitConfigError(`${url}: there is no ref type ${type}`);
  return found;
}

/** The path without `salt://` and outer slashes. */
function pathOf(text: string): string {
  return text.replace(/^salt:\/\//, '').replace(/^\/+|\/+$/g, '');
}
