import { posix } from 'node:path';
import { BackupError } from './backup-error.ts';

/**
 * The directory that a file's path is relative to. `include`: a part of the configuration
 * elsewhere; `host`: any other file that the configuration names.
 */
export type FileRoot = 'config' | 'include' | 'pki' | 'own-pki' | 'certificates' | 'host';

/** A file of the host. */
export interface FileRecord {
  readonly root: FileRoot;
  /** Relative to its root; for `include` and `host` relative to `/`. */
  readonly path: string;
  readonly mode: number;
  /** `root`, `user` (the master's), `root:user` (group of the master's user), or `uid:gid`. */
  readonly owner: string;
  /** Time of the last write, unix ms: autosign stubs expire by it. Absent in older backups. */
  readonly mtimeMs?: number;
  /** Where a symbolic link leads. */
  readonly link?: string;
}

/** Name of the archive entry for a file of the host. */
export function filePart({ root, path }: Pick<FileRecord, 'root' | 'path'>): string {
  return `files/${root}/${path}`;
}

const ROOTS: ReadonlySet<string> = new Set<FileRoot>([
  ...(['config', 'include', 'pki', 'own-pki', 'certificates', 'host'] as const),
]);
/** `root`, `user`, `root:user`, or numbers of a user and a group. */
const OWNER = /^(?:root|user|root:user|\d{1,10}:\d{1,10})$/;
const PATH_MAX = 4_096;
const NAME_MAX = 255;
const MODE_MAX = 0o777;
/** The largest time of a Date, in ms. */
const TIME_MAX = 8.64e15;
/** A name with invisible characters may be mistaken for another. */
const UNSEEN = /\p{Cc}/u;

/**
 * Checks the file records of a backup. A restore may run as root, and a file of a backup must not
 * get root's rights.
 * @throws BackupError that names the first refused record
 */
export function checkFileRecords(records: readonly unknown[]): readonly FileRecord[] {
  const known = new Map<string, FileRecord>();
  for (const given of records) {
    const record = checked(given);
    const part = filePart(record);
    if (known.has(part)) throw refused(record, 'it is there twice');
    known.set(part, record);
  }
  for (const record of known.values()) {
    for (const above of directoriesAbove(record.path)) {
      const what = known.get(filePart({ root: record.root, path: above }));
      if (what !== undefined) throw refused(record, `${above} is no directory in it`);
    }
  }
  return [...known.values()];
}

function checked(given: unknown): FileRecord {
  if (typeof given !== 'object' || given === null) {
    throw new BackupError('its manifest is damaged: a file has no place');
  }
  const record = given as FileRecord;
  const { root, path, mode, owner, mtimeMs, link } = record;
  if (typeof path !== 'string' || !ROOTS.has(root)) {
    throw new BackupError('its manifest is damaged: a file has no place');
  }
  const why = whyNoPath(path);
  if (why !== undefined) throw refused(record, why);
  if (!Number.isInteger(mode) || mode < 0 || mode > MODE_MAX) {
    throw refused(record, `its mode is ${inOctal(mode)}, and may be 0777 at most`);
  }
  if (typeof owner !== 'string' || !OWNER.test(owner)) throw refused(record, 'its owner is odd');
  if (mtimeMs !== undefined && !(Math.abs(mtimeMs) <= TIME_MAX)) {
    throw refused(record, 'its time is invalid');
  }
  if (link !== undefined) checkLink(record, link);
  return record;
}

/** A link must stay below its directory: otherwise files restored later would follow it out. */
function checkLink(record: FileRecord, link: unknown): void {
  if (typeof link !== 'string' || link === '' || UNSEEN.test(link) || link.length > PATH_MAX) {
    throw refused(record, 'it is a link that leads nowhere');
  }
  const isAlone = record.root === 'include' || record.root === 'host';
  const target = posix.join(posix.dirname(record.path), link);
  const leads = posix.isAbsolute(link) || target === '..' || target.startsWith('../');
  if (isAlone || leads)
    throw refused(record, `it is a link that leads elsewhere, to ${shown(link)}`);
}

function whyNoPath(path: string): string | undefined {
  if (UNSEEN.test(path)) return 'its path has characters that can not be seen';
  const isPlain = path !== '' && path === posix.normalize(path) && !path.endsWith('/');
  const isBelow = !posix.isAbsolute(path) && path !== '.' && path.split('/')[0] !== '..';
  if (!isPlain || !isBelow) return 'its path leads elsewhere';
  const names = path.split('/');
  const isLong = path.length > PATH_MAX || names.some((name) => Buffer.byteLength(name) > NAME_MAX);
  return isLong ? 'its path is too long' : undefined;
}

function directoriesAbove(path: string): string[] {
  const names = path.split('/').slice(0, -1);
  return names.map((_, at) => names.slice(0, at + 1).join('/'));
}

function inOctal(mode: unknown): string {
  return typeof mode === 'number' ? `0${mode.toString(8)}` : 'none';
}

function refused({ root, path }: FileRecord, why: string): BackupError {
  return new BackupError(`${shown(`files/${root}/${path}`)} may not be put: ${why}`);
}

/** Makes a text safe for a terminal. */
function shown(text: string): string {
  return text.slice(0, PATH_MAX).replace(new RegExp(UNSEEN, 'gu'), '?');
}
