import { existsSync } from 'node:fs';
import { open, readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { MasterOptions } from '@brine/config';

/** A token is some 64 characters; a larger file holds none. */
const TOKEN_MAX_BYTES = 4096;

/** Where `-T` keeps the token of this user (Salt: salt/config client_config). */
export function tokenFile(): string {
  const config = process.env['XDG_CONFIG_HOME'] ?? join(homedir(), '.config');
  const salt = join(config, 'salt');
  return join(existsSync(salt) ? salt : homedir(), 'salt_token');
}

/** The token that was kept, while it may still be valid; undefined without one. */
export async function keptToken(options: MasterOptions): Promise<string | undefined> {
  const path = tokenFile();
  try {
    const { mtimeMs, size } = await stat(path);
    if (size > TOKEN_MAX_BYTES || mtimeMs + options.tokenExpire * 1000 < Date.now())
      return undefined;
    return (await readFile(path, 'utf8')).trim() || undefined;
  } catch {
    // None was kept, or it is not ours to read.
    return undefined;
  }
}

/** Keeps a token for the next commands; one that cannot be kept is used once, as in Salt. */
export async function keepToken(token: string): Promise<void> {
  try {
    const file = await open(tokenFile(), 'w', 0o600);
    try {
      await file.chmod(0o600);
      await file.writeFile(token);
    } finally {
      await file.close();
    }
  } catch {
    // A home that is not ours to write.
  }
}
