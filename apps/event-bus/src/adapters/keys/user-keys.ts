import { mkdir, readFile } from 'node:fs/promises';
import type { Bucket } from '@brine/bus';
import { escapeKey } from '@brine/bus';
import type { UserKey } from '@brine/cachedir';
import { ensureUserKey } from '@brine/cachedir';
import type { SecretBox } from '@brine/crypt';
import { newKeyString } from '@brine/crypt';
import type { Trouble } from '@brine/tasks';

/** The options that name the users with keys. */
export interface UserKeysOptions {
  readonly host: string;
  readonly cachedir: string;
  /** `user`, as which the master runs. */
  readonly user: string;
  readonly publisherAcl: Readonly<Record<string, unknown>>;
  /** `client_acl_verify`: also users of the host that a pattern in publisher_acl matches. */
  readonly clientAclVerify: boolean;
}

/** More local users with keys than this are a mistake in a pattern. */
const MAX_USERS = 500;
/** A name, not a pattern. */
const PLAIN_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.@$\\-]*$/;

/**
 * Makes sure that each user with the right to publish has a key file here, and that the workers
 * know it. The keys of a host are, sealed, in one entry of the bucket of secrets.
 */
export async function syncUserKeys(
  options: UserKeysOptions,
  bucket: Pick<Bucket, 'get' | 'put'>,
  box: SecretBox,
): Promise<readonly UserKey[]> {
  const key = escapeKey('userkeys', options.host);
  const entry = await bucket.get(key);
  const known = entry === undefined ? {} : openKeys(entry.value, box);
  await mkdir(options.cachedir, { recursive: true, mode: 0o755 });
  const keys: UserKey[] = [];
  for (const user of await usersWithKeys(options)) {
    const { cachedir } = options;
    keys.push(await ensureUserKey({ cachedir, user, known: known[user], fresh: newKeyString }));
  }
  const now = Object.fromEntries(keys.map((one) => [one.user, one.key]));
  if (!sameKeys(known, now)) await bucket.put(key, box.seal(Buffer.from(JSON.stringify(now))));
  return keys;
}

/** A removed key file is written again within this time. */
const LOOK_EVERY_MS = 60_000;

/** As {@link syncUserKeys}, repeated, so that removed files come back. */
export async function watchUserKeys(
  options: UserKeysOptions,
  bucket: Pick<Bucket, 'get' | 'put'>,
  box: SecretBox,
  onTrouble: Trouble,
): Promise<{ readonly count: number; close(): Promise<void> }> {
  let keys = await syncUserKeys(options, bucket, box);
  for (const { user } of keys.filter((one) => !one.owned)) {
    onTrouble(`user ${user} is not known to this host; the key file belongs to the master's user`);
  }
  let looking: Promise<void> = Promise.resolve();
  const look = async (): Promise<void> => {
    try {
      keys = await syncUserKeys(options, bucket, box);
    } catch (error) {
      onTrouble('user key files could not be looked after', error);
    }
  };
  const timer = setInterval(() => {
    looking = looking.then(look);
  }, LOOK_EVERY_MS);
  timer.unref();
  return {
    get count() {
      return keys.length;
    },
    close: () => {
      clearInterval(timer);
      return looking;
    },
  };
}

/** Salt: salt/daemons/masterapi.py access_keys. */
export async function usersWithKeys(options: UserKeysOptions): Promise<readonly string[]> {
  const patterns = Object.keys(options.publisherAcl);
  const users = new Set([options.user, ...(process.getuid?.() === 0 ? ['root'] : [])]);
  for (const name of patterns) if (PLAIN_NAME.test(name)) users.add(name);
  if (options.clientAclVerify && patterns.length > 0) {
    const matches = patterns.map(matcherOf);
    for (const user of await hostUsers()) {
      if (matches.some((matcher) => matcher(user))) users.add(user);
    }
  }
  return [...users].slice(0, MAX_USERS);
}

/** Salt: salt/utils/stringutils.py expr_match: exact, glob, then a regular expression, anchored. */
function matcherOf(pattern: string): (user: string) => boolean {
  const glob = new RegExp(
    `^${pattern
      .replace(/[\\^$.|+(){}[\]]/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll('?', '.')}$`,
  );
  let expression: RegExp | undefined;
  try {
    expression = new RegExp(`^(?:${pattern})$`);
  } catch {
    // A glob such as `*` is no regular expression.
  }
  return (user) => glob.test(user) || (expression?.test(user) ?? false);
}

async function hostUsers(): Promise<readonly string[]> {
  const text = await readFile('/etc/passwd', 'utf8').catch(() => '');
  return text
    .split('\n')
    .map((line) => line.split(':', 1)[0] ?? '')
    .filter((name) => name !== '');
}

/** Keys that do not open were sealed under another master.pem: then all are replaced. */
function openKeys(sealed: Uint8Array, box: SecretBox): Readonly<Record<string, string>> {
  let value: unknown;
  try {
    value = JSON.parse(box.open(sealed).toString('utf8'));
  } catch {
    return {};
  }
  if (typeof value !== 'object' || value === null) return {};
  const texts = Object.entries(value).filter((pair): pair is [string, string] => {
    return typeof pair[1] === 'string';
  });
  return Object.fromEntries(texts);
}

function sameKeys(
  one: Readonly<Record<string, string>>,
  other: Readonly<Record<string, string>>,
): boolean {
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  return names.every((name) => one[name] === other[name]);
}
