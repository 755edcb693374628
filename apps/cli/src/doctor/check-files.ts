import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { MasterOptions } from '@brine/config';
import { type Finding, some } from './finding.ts';

/** Others must have no access to these. The group may, if the options say so. */
const PRIVATE_NAMES = /^(?:.*\.pem|\.[^/]*_key|.*\.brine-keys.*|credentials.*|.*\.creds)$/;

/** Files that decide which minions are accepted: to write them is to control the master. */
const DECIDING = ['autosignFile', 'autorejectFile'] as const;

interface Found {
  readonly path: string;
  readonly mode: number;
  readonly mtimeMs: number;
}

/** Whether private files are private, and only the owner can write the deciding ones. */
export async function checkFiles(options: MasterOptions): Promise<Finding[]> {
  const { pkiDir, cachedir, permissivePkiAccess } = options;
  const entries = (await Promise.all([pkiDir, cachedir].map(entriesOf))).flat();
  const hidden = entries.filter(({ path }) => PRIVATE_NAMES.test(path.split('/').at(-1) ?? ''));
  const forbidden = permissivePkiAccess ? 0o007 : 0o077;
  const open = hidden.filter(({ mode }) => (mode & forbidden) !== 0).map(({ path }) => path);
  const findings: Finding[] = [
    open.length === 0
      ? { level: 'ok', check: 'private-files', text: `${hidden.length} private files are private` }
      : {
          level: 'bad',
          check: 'private-files',
          text: `others can read ${some(open)}: chmod them to 0400 and replace the keys`,
        },
  ];
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
  return [...findings, clockFinding(entries)];
}

/** A file from the future shows that the clock went back. Publications and jids depend on it. */
function clockFinding(entries: readonly Found[]): Finding {
  const newest = Math.max(0, ...entries.map(({ mtimeMs }) => mtimeMs));
  const ahead = Math.round((newest - Date.now()) / 1000);
  if (ahead <= 60) return { level: 'ok', check: 'clock', text: 'no file is from the future' };
  const text = `files are ${ahead} s ahead of the clock: it was set back, or is wrong`;
  return { level: 'warn', check: 'clock', text };
}

async function entriesOf(dir: string): Promise<Found[]> {
  let names: string[];
  try {
    names = await readdir(dir);
  } catch {
    // No directory yet: the master never ran and has no secrets.
    return [];
  }
  const all = await Promise.all(names.map((name) => found(join(dir, name))));
  return all.filter((one) => one !== undefined);
}

async function found(path: string): Promise<Found | undefined> {
  try {
    const { mode, mtimeMs } = await stat(path);
    return { path, mode, mtimeMs };
  } catch {
    // Gone between the listing and the look, or never there.
    return undefined;
  }
}
