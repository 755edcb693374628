import { statSync } from 'node:fs';
import { join } from 'node:path';
import { textNowIfThere } from '@brine/files';

/** The settings that pepper, the client of a stock salt-api, has. Empty ones are absent. */
export interface PepperSettings {
  readonly url?: string;
  readonly username?: string;
  readonly password?: string;
  readonly eauth?: string;
  /** The file, if others than its owner may read a password in it. */
  readonly exposed?: string;
}

const NAMES = {
  url: 'SALTAPI_URL',
  username: 'SALTAPI_USER',
  password: 'SALTAPI_PASS',
  eauth: 'SALTAPI_EAUTH',
} as const;

type Environment = Readonly<Record<string, string | undefined>>;

/** The settings of pepper in the environment alone. */
export function pepperVariables(env: Environment): PepperSettings {
  return settingsBy((name) => env[name]);
}

/**
 * The settings of pepper in its file, `~/.pepperrc` or `PEPPERRC`: the profile `main`, or
 * `PEPPERPROFILE` (pepper: pepper/cli.py get_login_details).
 */
export function pepperFile(env: Environment, home: string): PepperSettings {
  const path = env['PEPPERRC'] || join(home, '.pepperrc');
  const text = textNowIfThere(path);
  if (text === undefined) return {};
  const profile = profileIn(text, env['PEPPERPROFILE'] || 'main');
  const settings = settingsBy((name) => profile.get(name.toLowerCase()));
  const isExposed = settings.password !== undefined && (statSync(path).mode & 0o044) !== 0;
  return isExposed ? { ...settings, exposed: path } : settings;
}

function settingsBy(valueOf: (name: string) => string | undefined): PepperSettings {
  return Object.fromEntries(
    Object.entries(NAMES).flatMap(([field, name]) => {
      const value = valueOf(name);
      return value === undefined || value === '' ? [] : [[field, value]];
    }),
  );
}

/** A section of a file of Python's `configparser`, with the values of `DEFAULT`. */
function profileIn(text: string, wanted: string): ReadonlyMap<string, string> {
  const sections = new Map<string, Map<string, string>>();
  let section: Map<string, string> | undefined;
  for (const line of text.split(/\r?\n/)) {
    const bare = line.trim();
    if (bare === '' || bare.startsWith('#') || bare.startsWith(';')) continue;
    const name = /^\[([^\]]+)\]/.exec(bare)?.[1];
    if (name !== undefined) {
      section = sections.get(name) ?? new Map<string, string>();
      sections.set(name, section);
      continue;
    }
    const [, key, value = ''] = /^([^=:]+?)\s*[=:]\s*(.*)$/.exec(bare) ?? [];
    if (key !== undefined) section?.set(key.toLowerCase(), value);
  }
  return new Map([...(sections.get('DEFAULT') ?? []), ...(sections.get(wanted) ?? [])]);
}
