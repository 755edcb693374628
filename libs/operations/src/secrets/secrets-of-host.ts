import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { MasterOptions } from '@brine/config';
import { knownSecrets } from '@brine/config/reference';
import { asOwnerOf, readBounded } from '@brine/files';
import type { Secret } from './secret-scanner.ts';

/** Limits for reading a directory: number of files, and bytes of each. */
const FILES_MAX = 2_000;
const FILE_MAX_BYTES = 64 * 1024;
/** Lines of a key's base64: each of them is a secret. */
const KEY_LINE = /^[A-Za-z0-9+/=]{24,}$/;

/** The secrets of a host, and the files that this user can not read. */
export interface HostSecrets {
  readonly secrets: readonly Secret[];
  readonly unread: readonly string[];
}

/** Every secret that this host has: of the configuration, of users, keys, servers and tokens. */
export async function secretsOfHost(
  options: MasterOptions,
  location: { readonly configDir?: string | undefined },
): Promise<HostSecrets> {
  const { pkiDir, cachedir, brine } = options;
  const secrets: Secret[] = knownSecrets(location).map(({ option, value }) => {
    return { from: `option ${option}`, value };
  });
  const unread: string[] = [];
  const take = async (path: string, values: (text: string) => readonly string[]): Promise<void> => {
    try {
      const bytes = await asOwnerOf(dirname(path), () => readBounded(path, FILE_MAX_BYTES));
      const text = bytes?.toString('utf8') ?? '';
      secrets.push(...values(text).map((value) => ({ from: `file ${path}`, value })));
    } catch (error) {
      // A larger file is no key.
      unread.push(error instanceof Error ? `${path}: ${error.message}` : path);
    }
  };
  for (const path of await namesIn(cachedir, /^\..*_key$/, unread)) await take(path, linesOf);
  const keyDirs = [pkiDir, options.ownPkiDir, brine.nats.certificates].filter(
    (dir, at, all): dir is string => typeof dir === 'string' && all.indexOf(dir) === at,
  );
  for (const dir of keyDirs) {
    for (const path of await namesIn(dir, /\.(?:pem|key)$/, unread)) await take(path, keyLines);
    for (const below of await namesIn(dir, /^[a-z-]+$/, unread)) {
      if (/\/minions(?:_\w+)?$/.test(below)) continue;
      for (const path of await namesIn(below, /\.key$/, unread)) await take(path, keyLines);
    }
  }
  await take(join(brine.stateDir, 'nats', 'credentials.json'), jsonValues);
  for (const path of await namesIn(join(brine.stateDir, 'postgres'), /password$/, unread)) {
    await take(path, linesOf);
  }
  // A stock master names the file of a token by the token.
  for (const path of await namesIn(join(cachedir, 'tokens'), /^[0-9a-f]{32,}$/, unread)) {
    secrets.push({ from: 'a token', value: path.split('/').at(-1) ?? '' });
  }
  return { secrets, unread };
}

async function namesIn(dir: string, names: RegExp, unread: string[]): Promise<string[]> {
  try {
    const found = (await asOwnerOf(dir, () => readdir(dir))).filter((name) => names.test(name));
    if (found.length > FILES_MAX) unread.push(`${dir}: all but ${FILES_MAX} files`);
    return found.slice(0, FILES_MAX).map((name) => join(dir, name));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') unread.push(dir);
    return [];
  }
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').map((line) => line.trim());
}

function keyLines(text: string): readonly string[] {
  return text.includes('PRIVATE KEY') ? linesOf(text).filter((line) => KEY_LINE.test(line)) : [];
}

function jsonValues(text: string): readonly string[] {
  const values: unknown = JSON.parse(text);
  if (typeof values !== 'object' || values === null) return [];
  return Object.values(values).filter((value) => typeof value === 'string');
}
