import { constants, existsSync } from 'node:fs';
import { access, open, readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type LocalClient, RefusedError } from '@brine/client';
import type { MasterOptions } from '@brine/config';
import { mapOf, type SaltMap } from '@brine/wire';
import { EXIT, Exit } from '../exit-codes.ts';
import { systemUser } from '../master-config.ts';
import { isOn, type ParsedOptions, textValue } from '../options/command-form.ts';
import type { Terminal } from '../terminal.ts';

/** A token has about 64 characters; a larger file is no token. */
const TOKEN_MAX_BYTES = 4096;
// The authentication modules that 3008.2 names in its error text.
const EAUTH_MODULES = ['auto', 'file', 'ldap', 'pam', 'rest', 'sharedsecret'];

/**
 * The caller's credentials beside the local key: a token saved by `-T` if root's key cannot be
 * read; else those that `-a` asks for; else none (Salt: salt/cli/salt.py, salt/runner.py).
 * @throws Exit 2 if the login can not be tried
 */
export async function credentialsFor(run: {
  readonly options: ParsedOptions;
  readonly config: MasterOptions;
  readonly terminal: Terminal;
  readonly client: LocalClient;
}): Promise<SaltMap> {
  const { options, config, terminal, client } = run;
  const saved = await savedToken(config);
  if (saved !== undefined) {
    return (await isReadable(join(config.cachedir, '.root_key')))
      ? mapOf({})
      : mapOf({ token: saved });
  }
  const eauth = textValue(options, 'eauth');
  if (eauth === undefined) return mapOf({});
  const credentials = await askCredentials(eauth, options, terminal);
  const token = isOn(options, 'mktoken') ? await makeToken(client, eauth, credentials) : undefined;
  return mapOf(token === undefined ? { ...Object.fromEntries(credentials), eauth } : { token });
}

async function isReadable(path: string): Promise<boolean> {
  try {
    await access(path, constants.R_OK);
    return true;
  } catch {
    // No file, or not readable.
    return false;
  }
}

/** Asks for missing credentials (Salt: salt/auth/__init__.py Resolver.cli). */
async function askCredentials(
  eauth: string,
  options: ParsedOptions,
  terminal: Terminal,
): Promise<ReadonlyMap<string, string>> {
  if (!EAUTH_MODULES.includes(eauth)) {
    const names = EAUTH_MODULES.join(', ');
    terminal.out(`The specified external authentication system "${eauth}" is not available\n`);
    terminal.out(`Available eauth types: ${names}\n`);
    throw new Exit(EXIT.noReturn, 'ERROR: Authentication failed\n');
  }
  const username =
    textValue(options, 'username') ?? ((await terminal.ask('username: ', 'out')) || systemUser());
  const password = textValue(options, 'password') ?? (await terminal.askSecret('password: ')) ?? '';
  return new Map([
    ['username', username],
    ['password', password],
  ]);
}

async function makeToken(
  client: LocalClient,
  eauth: string,
  credentials: ReadonlyMap<string, string>,
): Promise<string | undefined> {
  const load = mapOf({ cmd: 'mk_token', eauth, ...Object.fromEntries(credentials) });
  try {
    const token = (await client.command(load)).get('token');
    if (typeof token !== 'string') return undefined;
    await saveToken(token);
    return token;
  } catch (error) {
    // No token. The command itself sends the credentials, and the master checks them there.
    if (error instanceof RefusedError) return undefined;
    throw error;
  }
}

/** The file in which `-T` stores the token of this user (Salt: salt/config client_config). */
function tokenFile(): string {
  const config = process.env['XDG_CONFIG_HOME'] ?? join(homedir(), '.config');
  const salt = join(config, 'salt');
  return join(existsSync(salt) ? salt : homedir(), 'salt_token');
}

/** The saved token while it may still be valid; undefined without one. */
async function savedToken(options: MasterOptions): Promise<string | undefined> {
  const path = tokenFile();
  try {
    const { mtimeMs, size } = await stat(path);
    if (size > TOKEN_MAX_BYTES || mtimeMs + options.tokenExpire * 1000 < Date.now())
      return undefined;
    return (await readFile(path, 'utf8')).trim() || undefined;
  } catch {
    // No file, or not readable.
    return undefined;
  }
}

/** Saves a token for the next commands. If that fails it is used once, as in Salt. */
async function saveToken(token: string): Promise<void> {
  try {
    const file = await open(tokenFile(), 'w', 0o600);
    try {
      await file.chmod(0o600);
      await file.writeFile(token);
    } finally {
      await file.close();
    }
  } catch {
    // The home directory is not writable.
  }
}
