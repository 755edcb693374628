import { type Stats, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { isSystemError, textNowIfThere, writeAtomic } from '@brine/files';
import { EXIT, Exit } from '../exit-codes.ts';

/** A log-in at an API. */
export interface StoredSession {
  /** Sent as a bearer token. */
  readonly token: string;
  readonly user: string;
  readonly eauth: string;
  /** When it ends, as the API gave it (RFC 3339). */
  readonly expires: string;
  /** A file of certificates by which the API's own is checked. */
  readonly ca?: string;
}

/** The log-ins of a user, by address. */
export interface StoredSessions {
  /** The address of the last log-in. */
  readonly last?: string;
  readonly sessions: Readonly<Record<string, StoredSession>>;
}

/** More log-ins than these are of addresses that are not used any more: the oldest go. */
const SESSIONS_MAX = 100;

/** The file of log-ins: in `XDG_CONFIG_HOME`, or in `~/.config`. */
export function sessionFile(
  env: Readonly<Record<string, string | undefined>> = process.env,
  home = homedir(),
): string {
  return join(env['XDG_CONFIG_HOME'] || join(home, '.config'), 'brine', 'sessions.json');
}

/**
 * Reads the log-ins; none without a file.
 * @throws Exit 1 if another user may read the file, or it is broken
 */
export function readSessions(path: string): StoredSessions {
  for (const one of [dirname(path), path]) refuseOpen(one);
  const text = textNowIfThere(path);
  if (text === undefined) return { sessions: {} };
  try {
    return checked(JSON.parse(text));
  } catch (cause) {
    if (cause instanceof SyntaxError)
      throw unusable(path, 'is broken: remove it, and log in again');
    throw cause;
  }
}

/**
 * Changes the log-ins. Only the user itself may read them.
 * @throws Exit 1 as {@link readSessions}; as the file system does
 */
export async function changeSessions(
  path: string,
  change: (stored: StoredSessions) => StoredSessions,
): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const { sessions, ...rest } = change(readSessions(path));
  const kept = Object.entries(sessions).slice(-SESSIONS_MAX);
  const text = JSON.stringify({ ...rest, sessions: Object.fromEntries(kept) }, undefined, 2);
  await writeAtomic(path, `${text}\n`, { mode: 0o600 });
}

/** Refuses a path that others may enter or read, or that belongs to another user. */
function refuseOpen(path: string): void {
  let facts: Stats;
  try {
    facts = statSync(path);
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ENOTDIR')) return;
    throw error;
  }
  const uid = process.getuid?.();
  if (uid !== undefined && facts.uid !== uid) throw unusable(path, 'belongs to another user');
  if ((facts.mode & 0o077) === 0) return;
  const mode = facts.isDirectory() ? '700' : '600';
  throw unusable(path, `can be used by other users: chmod ${mode} ${path}`);
}

function unusable(path: string, why: string): Exit {
  return new Exit(EXIT.generic, `brine: ${path} ${why}\n`);
}

function checked(value: unknown): StoredSessions {
  const { last, sessions } = recordOf(value);
  const known = Object.entries(recordOf(sessions)).flatMap(([url, one]) => {
    const { token, user, eauth, expires, ca } = recordOf(one);
    const texts = { token, user, eauth, expires };
    if (!Object.values(texts).every((text) => typeof text === 'string')) return [];
    return [[url, { ...texts, ...(typeof ca === 'string' ? { ca } : {}) } as StoredSession]];
  });
  return {
    ...(typeof last === 'string' ? { last } : {}),
    sessions: Object.fromEntries(known) as Record<string, StoredSession>,
  };
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
