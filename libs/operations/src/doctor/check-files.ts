import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { MasterOptions } from '@brine/config';
import { type Finding, some } from '../findings/finding.ts';

/** Others must have no access to these; the group only if options allow it. */
const PRIVATE_NAMES = /^(?:.*\.pem|\.[^/]*_key|.*\.brine-keys.*|credentials.*|.*\.creds)$/;

/** Files that decide which minions are accepted: to write them is to control the master. */
const DECIDING = ['autosignFile', 'autorejectFile'] as const;

interface Found {
  readonly path: string;
  readonly mode: number;
  readonly mtimeMs: number;
}

/** Checks that private files are private, and that only the owner can write the deciding ones. */
export async function checkFiles(options: MasterOptions): Promise<Finding[]> {
  const { pkiDir, cachedir, permissivePkiAccess } = options;
  const look = new Look();
  const found = (path: string): Promise<Found | undefined> => look.found(path);
  const entries = (await Promise.all([pkiDir, cachedir].map((dir) => look.entriesOf(dir)))).flat();
  const ofServers = await Promise.all(serverSecrets(options).map(found));
  const hidden = [
    ...entries.filter(({ path }) => PRIVATE_NAMES.test(path.split('/').at(-1) ?? '')),
    ...ofServers.filter((one) => one !== undefined),
  ];
  const forbidden = permissivePkiAccess ? 0o007 : 0o077;
  const open = hidden.filter(({ mode }) => (mode & forbidden) !== 0).map(({ path }) => path);
  const findings: Finding[] = [];
  if (open.length > 0) {
    const text = `others can read ${some(open)}: chmod them to 0400 and replace the keys`;
    findings.push({ level: 'bad', check: 'private-files', text });
  }
  const dirs = await Promise.all([pkiDir, cachedir].map(found));
  const writable = dirs
    .filter((dir) => dir !== undefined && (dir.mode & 0o002) !== 0)
    .map((dir) => dir?.path ?? '');
  for (const name of DECIDING) {
    const path = options[name];
    const file = path === undefined || path === '' ? undefined : await found(path);
    const loose = permissivePkiAccess ? 0o002 : 0o022;
    if (file !== undefined && (file.mode & loose) !== 0) writable.push(file.path);
  }
  if (writable.length > 0) {
    const text = `others may write ${some(writable)}: they decide who is let in`;
    findings.push({ level: 'bad', check: 'deciding-files', text });
  }
  if (look.unread.size === 0 && open.length === 0) {
    const text = `${hidden.length} private files are private`;
    findings.push({ level: 'ok', check: 'private-files', text });
  }
  return [...findings, ...unreadFindings(look.unread), clockFinding(entries)];
}

/** The passwords of the servers that Brine starts itself. */
function serverSecrets({ brine }: MasterOptions): string[] {
  const names = ['nats/credentials.json', 'postgres/password', 'postgres/services-password'];
  return names.map((path) => join(brine.stateDir, path));
}

/** A file from the future shows that the clock went back. Publications and jids depend on it. */
function clockFinding(entries: readonly Found[]): Finding {
  const newest = Math.max(0, ...entries.map(({ mtimeMs }) => mtimeMs));
  const ahead = Math.round((newest - Date.now()) / 1000);
  if (ahead <= 60) return { level: 'ok', check: 'clock', text: 'no file is from the future' };
  const text = `files are ${ahead} s ahead of the clock: it was set back, or is wrong`;
  return { level: 'warn', check: 'clock', text };
}

/** Reads files, and records those that could not be read. */
class Look {
  /** The reason, by path: an unread file must not be reported as private. */
  readonly unread = new Map<string, string>();

  async entriesOf(dir: string): Promise<Found[]> {
    let names: string[];
    try {
      names = await readdir(dir);
    } catch (error) {
      // No directory yet: the master never ran and has no secrets.
      noteUnread(this.unread, dir, error);
      return [];
    }
    const all = await Promise.all(names.map((name) => this.found(join(dir, name))));
    return all.filter((one) => one !== undefined);
  }

  async found(path: string): Promise<Found | undefined> {
    try {
      const { mode, mtimeMs } = await stat(path);
      return { path, mode, mtimeMs };
    } catch (error) {
      noteUnread(this.unread, path, error);
      return undefined;
    }
  }
}

/** Records a path that could not be read, unless it does not exist. */
export function noteUnread(unread: Map<string, string>, path: string, error: unknown): void {
  const { code = String(error) } = error as NodeJS.ErrnoException;
  if (code !== 'ENOENT') unread.set(path, code);
}

function unreadFindings(unread: ReadonlyMap<string, string>): Finding[] {
  if (unread.size === 0) return [];
  const codes = [...new Set(unread.values())].join(', ');
  const text = `${some([...unread.keys()])} can not be read (${codes}): run this as root`;
  return [{ level: 'warn', check: 'unread-files', text }];
}
