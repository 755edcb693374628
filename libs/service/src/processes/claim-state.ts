import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isAlive, isSystemError } from '@brine/files';

const ATTEMPTS_MAX = 3;

/** The file that the master of a state directory has while it lives. */
function lockFile(stateDir: string): string {
  return join(stateDir, 'master.lock');
}

/** The living process that has a state directory; changes nothing. */
export function ownerOfState(stateDir: string): number | undefined {
  const [pid, birth] = readText(lockFile(stateDir)).split(' ');
  const number = Number(pid);
  if (!Number.isInteger(number) || number <= 1 || number === process.pid) return undefined;
  const found = birthOf(number);
  return found !== undefined && found === birth ? number : undefined;
}

/**
 * Takes a state directory for this process; leftovers of a dead one do not count. Returns the
 * process that has it, or a function that releases it.
 */
export function claimState(stateDir: string): { readonly owner: number } | (() => void) {
  const path = lockFile(stateDir);
  // Others may pass through: PostgreSQL, as a user of its own, has its directory below.
  mkdirSync(dirname(path), { recursive: true, mode: 0o711 });
  const mine = `${path}.${process.pid}`;
  try {
    rmSync(mine, { force: true });
    // A new file: if another user may write here, a link must lead root nowhere.
    writeFileSync(mine, `${process.pid} ${birthOf(process.pid) ?? ''}`, {
      mode: 0o600,
      flag: 'wx',
    });
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      // A link is made whole or not at all, and never over another.
      if (linked(mine, path)) return () => rmSync(path, { force: true });
      const owner = ownerOfState(stateDir);
      if (owner !== undefined) return { owner };
      dropStale(path, `${mine}.stale`);
    }
  } finally {
    rmSync(mine, { force: true });
  }
  throw new Error(`${path} reappears each time it is removed`);
}

/** Removes the file of a dead process, but not one that a living process has made meanwhile. */
function dropStale(path: string, moved: string): void {
  const seen = readText(path);
  try {
    renameSync(path, moved);
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return;
    throw error;
  }
  if (readText(moved) !== seen) linked(moved, path);
  rmSync(moved, { force: true });
}

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (isSystemError(error, 'EEXIST')) return false;
    throw error;
  }
}

/**
 * When a living process was started, as the kernel counts it: another process may have its number
 * by now. Empty if there is no /proc; undefined if there is no such process.
 */
function birthOf(pid: number): string | undefined {
  if (!isAlive(pid)) return undefined;
  const stat = readText(`/proc/${pid}/stat`);
  // Field 22 of proc(5), counted after the name, which may contain spaces and brackets.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // The file was removed meanwhile: no process has the directory.
    return '';
  }
}
