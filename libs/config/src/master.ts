import { hostname } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import type { ConfigWarning } from './errors.ts';
import { unloadedModules } from './external-modules.ts';
import type { Sources } from './files/include.ts';
import { judgeOptions } from './judge.ts';
import { type ConfigLocation, findConfig, loadTable } from './load.ts';
import { type ConfigValue, isConfigMap, type OptionValues } from './option.ts';
import { masterOptions } from './options/master.ts';
import { placeUnderRoot } from './root-dir.ts';
import type { SdbValues } from './sdb.ts';
import { masterStandings } from './standings/master.ts';
import { SERVED } from './standings/served-kinds.ts';
import type { Origin } from './table.ts';

type FileValues = OptionValues<typeof masterOptions>;

/** Options of the master: those of the file, and values derived from them. */
export interface MasterOptions extends Omit<FileValues, 'brine' | 'masterId'> {
  readonly brine: FileValues['brine'];
  /** The file that was read. */
  readonly confFile: string;
  readonly configDir: string;
  /** `<cachedir>/tokens`. */
  readonly tokenDir: string;
  /** Name of this master; `<host>_master` unless `id` is set. */
  readonly id: string;
  /** The id, as the wire and the key files name it. */
  readonly masterId: string;
  /** Name of the master's pair in `pkiDir`, which is `cluster_pki_dir` in a cluster of Salt. */
  readonly masterKeyName: 'master' | 'cluster';
  /** `pki_dir` as it is written: in a cluster it contains the pair that signs the public key. */
  readonly ownPkiDir: string;
  /** Option `master_id`, which is added to jobs if it is set. */
  readonly jobMasterId: string | undefined;
  /** All values of the files, by Salt's names, with options that Brine does not read. */
  readonly written: Readonly<Record<string, ConfigValue>>;
}

/** A loaded configuration with the warnings for the operator. */
export interface LoadedConfig<T> {
  readonly options: T;
  readonly warnings: readonly ConfigWarning[];
  /** Values of sdb addresses, to be passed to services (`SDB_VARIABLE`). */
  readonly sdb?: SdbValues;
}

/** A loaded configuration with the values as written in files. */
interface ReadConfig extends LoadedConfig<MasterOptions> {
  readonly sources: Sources;
  readonly originOf: (path: string) => Origin;
}

/**
 * Reads the master's configuration: files, then environment, then derived values. Throws
 * ConfigError for broken YAML, an ill-typed option, or a file that can not be read.
 */
export function loadMasterConfig(location: ConfigLocation = {}): LoadedConfig<MasterOptions> {
  const { options, warnings, sdb } = readMasterConfig(location);
  return { options, warnings, ...(sdb === undefined ? {} : { sdb }) };
}

/** As {@link loadMasterConfig}, with the values of the files and their positions. */
export function readMasterConfig(location: ConfigLocation): ReadConfig {
  const env = location.env ?? process.env;
  const place = findConfig('master', location);
  const judged = new Set(Object.keys(masterStandings));
  const loaded = loadTable(masterOptions, place, 'master.d/*.conf', env, judged);
  const { values, sources, originOf, sdb } = loaded;
  const given = (name: string): boolean => Object.hasOwn(sources.values, name);
  const out: { -readonly [K in keyof FileValues]: FileValues[K] } = { ...values };
  if (!given('extension_modules')) out.extensionModules = join(out.cachedir, 'extmods');
  if (given('keep_jobs') && !given('keep_jobs_seconds')) out.keepJobsSeconds = out.keepJobs * 3600;
  out.sockDir = shortSockDir(out.sockDir, out.cachedir);
  out.syndicDir = join(out.cachedir, 'syndics');
  if (Object.hasOwn(out.externalAuth, 'rest') && !out.keepAclInToken) {
    // As salt/config apply_master_config: the HTTP API keeps no password to look up rights again.
    out.keepAclInToken = true;
  }
  placeUnderRoot(masterOptions, out, out.rootDir);
  const ownPkiDir = out.pkiDir;
  const isCluster = out.clusterId !== undefined && out.clusterId !== '';
  if (isCluster) out.pkiDir = out.clusterPkiDir || ownPkiDir;
  const root = resolve(out.rootDir);
  out.syndicDir = placed(root, out.syndicDir);
  const id = values.id === '' ? `${hostname()}_master` : values.id;
  const brine = { ...out.brine };
  brine.stateDir = brine.stateDir === '' ? join(out.cachedir, 'brine') : resolve(brine.stateDir);
  const { certificates } = brine.nats;
  brine.nats = {
    ...brine.nats,
    certificates: certificates === '' ? join(ownPkiDir, 'services') : resolve(certificates),
  };
  if (brine.host === '') brine.host = hostname();
  const options: MasterOptions = {
    ...out,
    brine,
    id,
    masterId: id,
    masterKeyName: isCluster ? 'cluster' : 'master',
    ownPkiDir,
    jobMasterId: values.masterId,
    confFile: place.file,
    configDir: place.configDir,
    tokenDir: join(out.cachedir, 'tokens'),
    written: sources.values,
  };
  const { cachedir, confFile, extensionModules } = options;
  const isPreset = extensionModules === placed(root, join(cachedir, 'extmods'));
  const isIdle = isPreset && brine.python === '';
  const found = { ...sources.values, extension_modules: isPreset ? null : extensionModules };
  const accepted = brine.acceptIgnored;
  const warnings = [
    ...withoutProfiles(loaded.warnings, sources.values),
    ...judgeOptions(masterStandings, { values: found, originOf, accepted }),
    ...(isIdle ? unloadedModules(extensionModules, confFile) : []),
  ];
  return { options, warnings, sources, originOf, sdb };
}

/** Profiles of sdb have names of the operator's choice: do not report them as unknown options. */
function withoutProfiles(
  warnings: readonly ConfigWarning[],
  values: Readonly<Record<string, ConfigValue>>,
): ConfigWarning[] {
  return warnings.flatMap((warning) => {
    const { kind, option = '', file, line } = warning;
    const value = kind === 'unknown' ? values[option] : undefined;
    const driver = isConfigMap(value) ? value['driver'] : undefined;
    if (typeof driver !== 'string') return [warning];
    if (SERVED.sdb.some((name) => name === driver)) return [];
    const text =
      `Option '${option}' in ${file}, line ${line}, is not in force: it is no profile of sdb ` +
      `with the driver ${SERVED.sdb.join(' or ')}`;
    return [{ ...warning, kind: 'unused', text }];
  });
}

/** Address that clients of this host connect to (salt/config client_config: not the wildcard). */
export function clientInterface(options: Pick<MasterOptions, 'interface'>): string {
  if (options.interface === '0.0.0.0') return '127.0.0.1';
  return options.interface === '::' ? '::1' : options.interface;
}

/** The files that a configuration is read from, in the order in which they are read. */
export function masterConfigFiles(location: ConfigLocation = {}): readonly string[] {
  return readMasterConfig(location).sources.files.map(({ file }) => file);
}

/** Salt moves the sockets when their path is much longer than the cache's (107 bytes at most). */
export function shortSockDir(sockDir: string, cachedir: string): string {
  return sockDir.length > cachedir.length + 10 ? join(cachedir, '.salt-unix') : sockDir;
}

function placed(root: string, path: string): string {
  return isAbsolute(path) && path.startsWith(root) ? path : join(root, path);
}
