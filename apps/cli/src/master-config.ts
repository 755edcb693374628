import { existsSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { ConfigError, loadMasterConfig, type MasterOptions } from '@brine/config';
import { letChildrenHave } from '@brine/environment';
import { EXIT, Exit } from './exit-codes.ts';
import { type ParsedOptions, textValue } from './options/command-form.ts';
import { GIVE_OPTIONS } from './options/common-groups.ts';
import { logLine, type Terminal, warnIneffective } from './terminal.ts';

/**
 * Reads the master's configuration for a command.
 * @throws Exit 1 if it is broken; Salt reads it twice and prints the error twice
 */
export function readMasterConfig(options: ParsedOptions, terminal: Terminal): MasterOptions {
  warnIneffective(terminal, options);
  warnOfSaltfile(terminal);
  const configDir = textValue(options, 'config_dir');
  try {
    const loaded = loadMasterConfig({ configDir });
    for (const warning of loaded.warnings) {
      // The master logs the others when it starts.
      if (warning.ofCommands === true) logLine(terminal, 'WARNING', warning.text);
      if (warning.kind !== 'missing') continue;
      const shown = configDir ?? loaded.options.configDir;
      terminal.err(`WARNING: CONFIG '${shown}' directory does not exist.\n`);
    }
    // Outputters in Python get the same environment as modules of the master.
    letChildrenHave(process.env, loaded.options.brine.childEnvironment);
    return loaded.options;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    logLine(terminal, 'ERROR', error.message);
    if (error.code === 'CONFIG_PARSE') logLine(terminal, 'ERROR', error.message);
    throw new Exit(EXIT.generic);
  }
}

/** Salt reads options from such a file even if nothing names it (parsers.py SaltfileMixIn). */
function warnOfSaltfile(terminal: Terminal): void {
  const named = process.env['SALT_SALTFILE'];
  const places = named ? [named] : [resolve('Saltfile'), join(homedir(), '.salt', 'Saltfile')];
  const found = places.find((path) => existsSync(path));
  if (found !== undefined) logLine(terminal, 'WARNING', `${found} is not read: ${GIVE_OPTIONS}`);
}

/** The name of the calling user. */
export function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    // A user id without a name (containers): the number stands for it.
    return String(process.getuid?.() ?? 'root');
  }
}

/** The user of a publish (Salt: salt/utils/user.py get_specific_user). */
export function specificUser(): string {
  const user = systemUser();
  const caller = process.env['SUDO_USER'];
  return user === 'root' && caller !== undefined ? `sudo_${caller}` : user;
}

/** The user of the key file (Salt: salt/client/__init__.py __read_master_key). */
export function keyUser(user: string, masterUser: string): string {
  return user === 'root' || user.startsWith('sudo_') ? masterUser : user;
}
