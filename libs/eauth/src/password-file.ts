import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { checkHtpasswd } from './htpasswd.ts';
import {
  type Credentials,
  type KnownUser,
  LoginError,
  type LoginModule,
  type ModuleSettings,
  settingText,
} from './login-module.ts';
import { sameSecret } from './same-secret.ts';

/** A list of users that is larger than this is none. */
const FILE_MAX_BYTES = 16 * 1_048_576;

/** What `hashutil.digest` knows (salt/modules/hashutil.py), and no hash at all. */
const HASH_TYPES: ReadonlySet<string> = new Set(['plaintext', 'md5', 'sha256', 'sha512']);

/**
 * Users in a file (salt/auth/file.py): text with a separator, htpasswd, htdigest. The file is read
 * at each login, so that a change counts at once.
 */
export class PasswordFile implements LoginModule {
  readonly #settings: ModuleSettings;

  constructor(settings: ModuleSettings) {
    this.#settings = settings;
  }

  async check({ username, password }: Credentials): Promise<KnownUser | undefined> {
    const filename = settingText(this.#settings, '^filename', '');
    if (filename === '') {
      throw new LoginError('external_auth:file has no ^filename');
    }
    const lines = (await readText(filename)).split(/\r\n|\r|\n/);
    const known = await this.#matches(lines, username, password);
    return known ? { name: username, groups: [] } : undefined;
  }

  #matches(lines: readonly string[], username: string, password: string) {
    const type = settingText(this.#settings, '^filetype', 'text');
    if (type === 'text') return this.#matchesText(lines, username, password);
    const usersLine = (prefix: string): string | undefined =>
      lines.find((line) => line.startsWith(prefix))?.slice(prefix.length);
    if (type === 'htpasswd') {
      const hash = usersLine(`${username}:`);
      return hash === undefined ? false : checkHtpasswd(password, hash.trimEnd());
    }
    if (type !== 'htdigest') throw new LoginError(`external_auth:file: no ^filetype ${type}`);
    const realm = settingText(this.#settings, '^realm', '');
    if (realm === '') throw new LoginError('external_auth:file has no ^realm for htdigest');
    const digest = usersLine(`${username}:${realm}:`);
    const given = createHash('md5').update(`${username}:${realm}:${password}`).digest('hex');
    return digest !== undefined && sameSecret(digest.trimEnd(), given);
  }

  /** The first line of the user decides; a line without the fields before it ends the search. */
  #matchesText(lines: readonly string[], username: string, password: string): boolean {
    const hashType = settingText(this.#settings, '^hashtype', 'plaintext');
    if (!HASH_TYPES.has(hashType)) {
      throw new LoginError(`external_auth:file: Hash func '${hashType}' is not supported.`);
    }
    const separator = settingText(this.#settings, '^field_separator', ':');
    const nameAt = this.#field('^username_field', '1');
    const passwordAt = this.#field('^password_field', '2');
    for (const [at, line] of lines.entries()) {
      // What follows the last line end is no line.
      if (line === '' && at === lines.length - 1) break;
      const fields = line.trim().split(separator);
      const name = fields[nameAt];
      const secret = fields[passwordAt];
      if (name === undefined || secret === undefined) {
        throw new LoginError(`external_auth:file: line ${at + 1} of the file has no such field`);
      }
      if (name !== username) continue;
      const given =
        hashType === 'plaintext' ? password : createHash(hashType).update(password).digest('hex');
      return sameSecret(secret, given);
    }
    return false;
  }

  #field(name: string, preset: string): number {
    const at = Number(settingText(this.#settings, name, preset)) - 1;
    if (!Number.isInteger(at) || at < 0) throw new LoginError(`external_auth:file: bad ${name}`);
    return at;
  }
}

async function readText(filename: string): Promise<string> {
  try {
    const file = await open(filename, 'r');
    try {
      const { size } = await file.stat();
      if (size > FILE_MAX_BYTES) throw new LoginError(`${filename} is too large`);
      return await file.readFile('utf8');
    } finally {
      await file.close();
    }
  } catch (cause) {
    if (cause instanceof LoginError) throw cause;
    throw new LoginError(`external_auth:file: ${filename} cannot be read`, { cause });
  }
}
