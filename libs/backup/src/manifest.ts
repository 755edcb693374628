import type { ReaderPlace } from '@brine/bus/snapshots';
import type { CopyOut } from '@brine/job-cache';
import { BackupError } from './backup-error.ts';
import { checkFileRecords, type FileRecord } from './file-records.ts';

/** The layout of the file; a reader refuses one that it does not know. */
export const FORMAT = 2;
/** Without a code at the end. */
const FORMATS: ReadonlySet<unknown> = new Set([1, FORMAT]);

/** A JSON value that is stored unchanged. */
export type Json = Readonly<Record<string, unknown>>;

/** One part of the file, cut into pieces. */
export interface PartRecord {
  readonly name: string;
  readonly pieces: number;
  readonly bytes: number;
  readonly sha256: string;
}

/** A stream with the data that its restore needs. */
export interface StreamRecord {
  readonly name: string;
  readonly messages: number;
  readonly bytes: number;
  readonly config: Json;
  readonly state: Json;
}

/** The facts that are known before anything is read. */
export interface BackupHead {
  readonly format: number;
  /** Unique to this backup. */
  readonly name: string;
  readonly release: string;
  /** Id of the master. */
  readonly master: string;
  readonly host: string;
  /** Everything acknowledged before this time is in the backup. RFC 3339. */
  readonly mark: string;
}

/** The content of a backup. The manifest is the last entry before its code. */
export interface Manifest extends BackupHead {
  readonly endedAt: string;
  /** The newest job in it. */
  readonly lastJid: string;
  /** The highest sequence that data of the backup may refer to, by stream. */
  readonly usedSequences: Readonly<Record<string, number>>;
  readonly files: readonly FileRecord[];
  readonly streams: readonly StreamRecord[];
  readonly readers: readonly ReaderPlace[];
  readonly database: DatabaseRecord;
  readonly parts: readonly PartRecord[];
}

/** The schema that the tables need, as the job cache returned it. */
export interface DatabaseRecord {
  readonly head: CopyOut['head'];
  readonly sequences: Awaited<ReturnType<CopyOut['sequences']>>;
}

/** The first entry of the file, and the last two. */
export const HEAD = 'brine-backup.json';
export const MANIFEST = 'manifest.json';
export const MAC = 'manifest.mac';

/** The part that an entry belongs to. A file is one entry; other parts have several. */
export function partOf(entry: string): string {
  return entry.startsWith('files/') ? entry : entry.slice(0, Math.max(0, entry.lastIndexOf('/')));
}

/**
 * Reads the first entry.
 * @throws BackupError if it is no backup, or one that this release can not read
 */
export function readHead(name: string, data: Uint8Array): BackupHead {
  if (name !== HEAD) throw new BackupError('it is no backup of Brine');
  const head = parse(data);
  const { format } = head;
  if (FORMATS.has(format)) return head as unknown as BackupHead;
  const release = typeof head['release'] === 'string' ? head['release'] : 'another release';
  throw new BackupError(`its format is ${String(format)}: restore it with Brine ${release}`);
}

/**
 * Reads the manifest.
 * @throws BackupError if it is damaged, or contains anything that a restore must not write
 */
export function readManifest(data: Uint8Array): Manifest {
  const found = parse(data);
  const lists = ['files', 'streams', 'readers', 'parts'];
  const isWhole = lists.every((name) => Array.isArray(found[name])) && isRecord(found['database']);
  if (!FORMATS.has(found['format']) || !isWhole) throw new BackupError('its manifest is damaged');
  const manifest = found as unknown as Manifest;
  checkFileRecords(manifest.files);
  checkNames(manifest);
  return manifest;
}

/** Refuses duplicate names: only one of two equal names would have been checked. */
function checkNames({ parts, streams, database }: Manifest): void {
  const { head } = database;
  if (!isRecord(head) || !Array.isArray(head.tables)) {
    throw new BackupError('its manifest is damaged');
  }
  const lists = { part: parts, stream: streams, table: head.tables };
  for (const [kind, list] of Object.entries(lists)) {
    const names = new Set<string>();
    for (const one of list) {
      const { name } = (one ?? {}) as { readonly name?: unknown };
      if (typeof name !== 'string' || /\p{Cc}/u.test(name)) {
        throw new BackupError(`its manifest is damaged: a ${kind} has no name`);
      }
      if (names.has(name)) throw new BackupError(`the ${kind} ${name} is there twice`);
      names.add(name);
    }
  }
}

function parse(data: Uint8Array): Json {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString('utf8'));
  } catch (error) {
    throw new BackupError('it is damaged', { cause: error });
  }
  if (!isRecord(value)) throw new BackupError('it is damaged');
  return value;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
