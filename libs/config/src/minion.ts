import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type ConfigLocation, findConfig, loadTable } from './load.ts';
import { type LoadedConfig, shortSockDir } from './master.ts';
import { camelCase, isOption, type OptionValues } from './option.ts';
import { minionOptions } from './options/minion.ts';
import { placeUnderRoot } from './root-dir.ts';

type FileValues = OptionValues<typeof minionOptions>;

/** Options of the minion: those of the file, and values derived from them. */
export interface MinionOptions extends FileValues {
  readonly confFile: string;
  readonly configDir: string;
}

/**
 * Reads the minion's configuration. The id is that of the file, then `<config dir>/minion_id`, then
 * the host's name. Throws ConfigError as loadMasterConfig does.
 */
export function loadMinionConfig(location: ConfigLocation = {}): LoadedConfig<MinionOptions> {
  const env = location.env ?? process.env;
  const place = findConfig('minion', location);
  const { values, sources, warnings } = loadTable(minionOptions, place, 'minion.d/*.conf', env);
  const out: { -readonly [K in keyof FileValues]: FileValues[K] } = { ...values };
  if (!Object.hasOwn(sources.values, 'extension_modules')) {
    out.extensionModules = join(out.cachedir, 'extmods');
  }
  out.sockDir = shortSockDir(out.sockDir, out.cachedir);
  placeUnderRoot(minionOptions, out, out.rootDir);
  if (out.id === '') out.id = cachedId(place.configDir) ?? hostname();
  return { options: { ...out, confFile: place.file, configDir: place.configDir }, warnings };
}

/** The options in force by Salt's names, without Brine's own, as `config.get` shows them. */
export function minionOptionsByName(options: MinionOptions): Record<string, unknown> {
  const values: Readonly<Record<string, unknown>> = { ...options };
  const names = Object.entries(minionOptions).filter(([, entry]) => isOption(entry));
  return Object.fromEntries(names.map(([name]) => [name, values[camelCase(name)]]));
}

/** As salt/config get_id: a cached id that is empty or `localhost` does not count. */
function cachedId(configDir: string): string | undefined {
  try {
    const text = readFileSync(join(configDir, 'minion_id'), 'utf8').replace(/^\uFEFF/, '');
    const id = text.split('\n', 1)[0]?.trim();
    return id === '' || id === 'localhost' ? undefined : id;
  } catch {
    // Usually missing; an unreadable file is ignored too, as in Salt.
    return undefined;
  }
}
