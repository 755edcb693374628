import { mkdir, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { type Owner, readIfThere, removeIfThere, writeAtomic } from '@brine/files';
import { isMap, mapIn, mapOf, pack, SaltFloat, type SaltMap } from '@brine/wire';
import { namesIn, type PassedOver, readAtMost, readPacked } from './bounded.ts';

/** A token of `salt -T` as its file has it. */
export interface StockToken {
  readonly token: string;
  /** `name`, `eauth`, `start`, `expire`, and perhaps `groups` and `auth_list`. */
  readonly data: SaltMap;
  /** Unix seconds. */
  readonly expire: number;
}

/** The session key of a minion (3006.12 and later keep them over a restart). */
export interface StockSession {
  readonly id: string;
  readonly key: string;
  /** Unix ms. */
  readonly timeMs: number;
}

/** A hash in hex, of the kind that `hash_type` names. */
const TOKEN = /^[0-9a-f]{32,128}$/;
const TOKEN_MAX_BYTES = 1024 * 1024;
const FILE_MODE = 0o600;
const DIR_MODE = 0o750;
const SESSION_KEY = /^[A-Za-z0-9+/]{75}=$/;

/**
 * The tokens of a directory. 3006 and 3007 write `<token>` (Salt: salt/tokens/localfs.py), 3008
 * writes `<token>.p`, with the data and their end beside each other (Salt: salt/cache/__init__.py).
 */
export async function* readStockTokens(
  dir: string,
  onPassed: (passed: PassedOver) => void,
): AsyncGenerator<StockToken> {
  for (const name of await namesIn(dir)) {
    const token = name.replace(/\.p$/, '');
    if (!TOKEN.test(token)) continue;
    const found = await readPacked(join(dir, name), TOKEN_MAX_BYTES, onPassed);
    if (found === undefined || !isMap(found.value)) continue;
    const data = mapIn(found.value, 'data') ?? found.value;
    const expire = secondsIn(data, 'expire');
    if (expire !== undefined) yield { token, data, expire };
    else onPassed({ path: join(dir, name), why: 'it has no expire' });
  }
}

/** Seconds under a name, whether whole or not. */
function secondsIn(data: SaltMap, name: string): number | undefined {
  const value = data.get(name);
  if (value instanceof SaltFloat) return value.value;
  return typeof value === 'number' ? value : undefined;
}

/** Writes a token where a release looks for it. False where it is there already. */
export async function writeStockToken(
  dir: string,
  { token, data, expire }: StockToken,
  to: { readonly isOf3008: boolean; readonly owner?: Owner | undefined },
): Promise<boolean> {
  if (!TOKEN.test(token)) return false;
  const path = join(dir, to.isOf3008 ? `${token}.p` : token);
  if ((await readIfThere(path)) !== undefined) return false;
  await mkdir(dir, { recursive: true, mode: DIR_MODE });
  const value = to.isOf3008 ? mapOf({ data, _expires: Math.floor(expire) }) : data;
  await writeAtomic(path, pack(value, 'bin'), { mode: FILE_MODE, owner: to.owner });
  return true;
}

/** Removes tokens that are not among these; what is no token stays. Gives their number. */
export async function keepStockTokens(dir: string, wanted: ReadonlySet<string>): Promise<number> {
  let removed = 0;
  for (const name of await namesIn(dir)) {
    const token = name.replace(/\.p$/, '');
    if (!TOKEN.test(token) || wanted.has(token)) continue;
    if (await removeIfThere(join(dir, name))) removed += 1;
  }
  return removed;
}

/** The session keys below a cachedir. */
export async function* readStockSessions(
  cachedir: string,
  onPassed: (passed: PassedOver) => void,
): AsyncGenerator<StockSession> {
  const dir = join(cachedir, 'sessions');
  for (const id of await namesIn(dir)) {
    // Another name is a draft of Python's tempfile, which has no whole key.
    const path = join(dir, id);
    try {
      const found = await readAtMost(path, 1024);
      const key = found?.bytes.toString('latin1').trim() ?? '';
      if (found && SESSION_KEY.test(key)) yield { id, key, timeMs: found.timeMs };
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      onPassed({ path, why: error.message });
    }
  }
}

/** Writes a session key; its age counts from the time of the file. */
export async function writeStockSession(
  cachedir: string,
  { id, key, timeMs }: StockSession,
  owner?: Owner,
): Promise<void> {
  const dir = join(cachedir, 'sessions');
  await mkdir(dir, { recursive: true, mode: DIR_MODE });
  const path = join(dir, id);
  await writeAtomic(path, key, { mode: FILE_MODE, owner });
  await utimes(path, timeMs / 1_000, timeMs / 1_000);
}
