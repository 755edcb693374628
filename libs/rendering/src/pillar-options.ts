import { join } from 'node:path';
import { type ConfigValue, isConfigMap, type MasterOptions } from '@brine/config';
import { nodegroupsOf } from '@brine/config';
import { saltValue, textsOf } from '@brine/config';
import type { PillarOptions } from '@brine/pillar';
import { mapOf, pack, SALT_RELEASE, type SaltMap } from '@brine/wire';
import type { ExternalsData } from './pillar-externals.ts';
import type { GitSettings } from './sources/git-checkouts.ts';
import type { GpgSettings } from './sources/gpg.ts';
import type { ThreadData } from './threads/thread-start.ts';

/** The data that a rendering thread starts with. */
export function threadData(options: MasterOptions): ThreadData {
  const opts = namedOptions(options);
  return {
    roots: directoriesOf(options.pillarRoots),
    fileRoots: directoriesOf(options.fileRoots),
    gpg: gpgSettings(options),
    externals: externalsData(options),
    options: pillarOptions(options),
    packed: pack(mapOf({ opts, extPillar: saltValue(options.extPillar) })),
  };
}

/** The options of pillars, except those that are Salt's values. */
export function pillarOptions(options: MasterOptions): Omit<PillarOptions, 'opts' | 'extPillar'> {
  return {
    renderer: options.renderer,
    rendererBlacklist: options.rendererBlacklist,
    rendererWhitelist: options.rendererWhitelist,
    stateTop: options.stateTop,
    mergingStrategy: options.pillarSourceMergingStrategy,
    mergeLists: options.pillarMergeLists,
    includesOverrideSls: options.pillarIncludesOverrideSls,
    safeRenderError: options.pillarSafeRenderError,
    pillarOpts: options.pillarOpts,
    pillarenv: typeof options.pillarenv === 'string' ? options.pillarenv : null,
    pillarenvFromSaltenv: options.pillarenvFromSaltenv,
    envOrder: options.envOrder,
    extPillarFirst: options.extPillarFirst,
    excludeExtPillar: options.excludeExtPillar,
    onDemandExtPillar: options.onDemandExtPillar,
    decrypt: {
      keys: decryptKeys(options.decryptPillar, options.decryptPillarDefault),
      delimiter: options.decryptPillarDelimiter,
      renderers: options.decryptPillarRenderers,
    },
    saltVersion: SALT_RELEASE,
    nodegroups: nodegroupsOf(options.nodegroups),
    trimBlocks: options.jinjaTrimBlocks || options.jinjaSlsEnv['trim_blocks'] === true,
    lstripBlocks: options.jinjaLstripBlocks || options.jinjaSlsEnv['lstrip_blocks'] === true,
    allowUndefined: options.allowUndefined,
  };
}

/** The keys of `decrypt_pillar`: a list of keys or maps from keys to renderers, or such a map. */
function decryptKeys(value: ConfigValue, otherwise: string): (readonly [string, string])[] {
  const entries = Array.isArray(value) ? (value as readonly ConfigValue[]) : [value];
  return entries.flatMap((entry): (readonly [string, string])[] => {
    if (typeof entry === 'string') return [[entry, otherwise]];
    if (!isConfigMap(entry)) return [];
    return Object.entries(entry).map(([key, renderer]) => [
      key,
      typeof renderer === 'string' ? renderer : otherwise,
    ]);
  });
}

/** The settings of gpg: the directory of its keys, and whether it must succeed. */
export function gpgSettings(options: MasterOptions): GpgSettings {
  return {
    keyDir: options.gpgKeydir || join(options.configDir, 'gpgkeys'),
    mustSucceed: options.gpgDecryptMustSucceed,
  };
}

/** The master's options by the names in its file: templates see them as `opts`. */
export function namedOptions(options: MasterOptions): SaltMap {
  const named: SaltMap = new Map();
  for (const [key, value] of Object.entries(options)) {
    if (key === 'brine') continue;
    const name = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    // An option without a value is None there.
    named.set(name, value === undefined ? null : saltValue(value as ConfigValue));
  }
  return named;
}

/** Directories by environment. */
export function directoriesOf(
  configured: Readonly<Record<string, ConfigValue>>,
): Record<string, string[]> {
  return Object.fromEntries(Object.entries(configured).map(([env, dirs]) => [env, textsOf(dirs)]));
}

/** How git pillars are fetched. */
export function gitSettings(options: MasterOptions): GitSettings {
  return {
    cacheDir: options.cachedir,
    updateIntervalMs: options.gitPillarUpdateInterval * 1000,
    sslVerify: options.gitPillarSslVerify,
    user: options.gitPillarUser,
    password: options.gitPillarPassword,
    privkey: options.gitPillarPrivkey,
  };
}

/** The settings of external pillars. */
export function externalsData(options: MasterOptions): ExternalsData {
  const { postgres } = options;
  const text = (name: string, otherwise: string): string => {
    const value = postgres[name];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : otherwise;
  };
  return {
    gitDefaults: {
      base: options.gitPillarBase,
      branch: options.gitPillarBranch,
      env: options.gitPillarEnv,
      fallback: options.gitPillarFallback,
      root: options.gitPillarRoot,
    },
    gitIncludes: options.gitPillarIncludes,
    // Defaults: salt/pillar/postgres.py.
    postgres: {
      host: text('host', 'localhost'),
      port: Number(text('port', '5432')),
      user: text('user', 'salt'),
      password: text('pass', 'salt'),
      database: text('db', 'salt'),
    },
  };
}
