import {
  closeSync,
  constants,
  fstatSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { isAlive, isSystemError } from '@brine/files';
import type { ServiceState } from './child-service.ts';

/** The last rolling restart of a supervisor. */
export interface RollingState {
  /** Counted from 1. */
  readonly number: number;
  readonly state: 'running' | 'done' | 'failed';
  /** The service that is being replaced, or whose replacement failed. */
  readonly service?: string;
  readonly error?: string;
}

/** The processes that run here, for `brine status`. */
export interface SupervisorState {
  readonly pid: number;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly services: readonly ServiceState[];
  readonly rolling?: RollingState;
}

/** `<state dir>/services.json`. */
export function stateFile(stateDir: string): string {
  return join(stateDir, 'services.json');
}

/** Writes the state as one change, readable by its owner only. Throws as the file system does. */
export function writeState(stateDir: string, state: SupervisorState): void {
  // Others may pass through: PostgreSQL, as a user of its own, has its directory below.
  mkdirSync(stateDir, { recursive: true, mode: 0o711 });
  replaceFile(stateFile(stateDir), `${JSON.stringify(state, undefined, 2)}\n`, 0o600);
}

/**
 * Reads the state. Undefined if no supervisor has written one, or a power cut has emptied it: the
 * claim of the directory is in a file of its own.
 */
export function readState(stateDir: string): SupervisorState | undefined {
  try {
    return JSON.parse(textOf(stateFile(stateDir))) as SupervisorState;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    if (isSystemError(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** The directory may be another user's: a pipe must not block the reader, nor a device fill it. */
function textOf(path: string): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return fstatSync(file).isFile() ? readFileSync(file, 'utf8') : '';
  } finally {
    closeSync(file);
  }
}

/** Removes the state, so that no process seems to run. */
export function removeState(stateDir: string): void {
  rmSync(stateFile(stateDir), { force: true });
}

/** The supervisor that a state names, if it still lives: another process may have its id. */
export function livingSupervisor(state: SupervisorState | undefined): number | undefined {
  if (!state || state.pid === process.pid) return undefined;
  return isAlive(state.pid) && isNode(state.pid) ? state.pid : undefined;
}

/**
 * True if a process may be signalled because a file names it: it belongs to the file's owner, or
 * root wrote the file. A file of another user must not direct a signal of root's. Without /proc
 * (not Linux) the owner is unknown.
 */
export function isOfOwner(path: string, pid: number): boolean {
  const owner = lstatSync(path, { throwIfNoEntry: false })?.uid;
  const of = lstatSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid;
  return owner === 0 || of === undefined || owner === of;
}

/**
 * Writes a pid file, as salt/utils/process set_pidfile does: the number and nothing else. It gets
 * another owner if one is given. Throws as the file system does.
 */
export function writePidfile(path: string, owner?: { uid: number; gid: number }): void {
  mkdirSync(dirname(path), { recursive: true });
  replaceFile(path, String(process.pid), 0o644, owner);
}

/**
 * Removes the pid file. If its directory is another user's, as /run, the file is emptied and then
 * names no process. Never throws.
 */
export function removePidfile(path: string): void {
  try {
    if (readFileSync(path, 'utf8') === String(process.pid)) rmSync(path);
  } catch {
    try {
      truncateSync(path);
    } catch {
      // It is missing, or another user's. The next start finds its process dead.
    }
  }
}

function replaceFile(
  path: string,
  text: string,
  mode: number,
  owner?: { uid: number; gid: number },
): void {
  const next = `${path}.${process.pid}.next`;
  try {
    rmSync(next, { force: true });
    // A new file: if another user may write here, a link must lead root nowhere.
    writeFileSync(next, text, { mode, flag: 'wx' });
    if (owner !== undefined) lchownSync(next, owner.uid, owner.gid);
    renameSync(next, path);
  } catch (error) {
    // A full disk leaves the old file, and nothing beside it.
    rmSync(next, { force: true });
    throw error;
  }
}

function isNode(pid: number): boolean {
  try {
    return /node|brine|salt/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
  } catch {
    // Without /proc (not Linux) the process id has to be enough.
    return true;
  }
}
