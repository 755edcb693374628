import { createHash, type Hash } from 'node:crypto';
import { type Entry, readEntries } from './archive-reader.ts';
import { BackupError } from './backup-error.ts';
import type { BackupKey } from './backup-key.ts';
import { filePart } from './file-records.ts';
import {
  type BackupHead,
  MAC,
  MANIFEST,
  type Manifest,
  partOf,
  type PartRecord,
  readHead,
  readManifest,
} from './manifest.ts';

/** A complete backup. */
export interface CheckedBackup {
  readonly manifest: Manifest;
  /** True if the code at its end was made with this key; undefined without a code. */
  readonly isOf: (key: BackupKey) => boolean | undefined;
  /** Entries that the caller asked for. */
  readonly kept: ReadonlyMap<string, Buffer>;
}

/** A part as it was read. */
interface Counted {
  readonly hash: Hash;
  pieces: number;
  bytes: number;
}

/** Largest total size of the kept entries. */
const KEPT_MAX = 64 * 1024 * 1024;

/**
 * Reads a whole backup and compares every part with its hash; nothing is written.
 * @param keep selects entries to return
 * @throws BackupError if it is no backup, has another format, is damaged or truncated
 */
export async function checkBackup(
  bytes: AsyncIterable<Uint8Array>,
  keep: (entry: string) => boolean = () => false,
): Promise<CheckedBackup> {
  const counted = new Map<string, Counted>();
  const kept = new Map<string, Buffer>();
  let keptBytes = 0;
  let head: BackupHead | undefined;
  let manifest: { readonly read: Manifest; readonly data: Buffer } | undefined;
  let mac: string | undefined;
  for await (const entry of readEntries(bytes)) {
    const { name, data } = entry;
    if (manifest !== undefined) {
      if (name !== MAC || mac !== undefined) throw new BackupError(`${name} comes after its end`);
      mac = data.toString('latin1');
    } else if (head === undefined) head = readHead(name, data);
    else if (name === MANIFEST) manifest = { read: readManifest(data), data };
    else count(counted, entry);
    if (!keep(name)) continue;
    keptBytes += data.length;
    if (keptBytes > KEPT_MAX) throw new BackupError(`${name} is too large`);
    kept.set(name, data);
  }
  if (head === undefined) throw new BackupError('it is empty');
  if (manifest === undefined) throw new BackupError('it is cut off: it has no manifest');
  const { read, data } = manifest;
  if (read.name !== head.name) throw new BackupError('it is two backups in one file');
  compare(read.parts, counted);
  const names = new Set(read.parts.map(({ name }) => name));
  for (const name of read.files.map(filePart)) {
    if (!names.has(name)) throw new BackupError(`${name} is in its manifest and is missing`);
  }
  const code = mac;
  return {
    manifest: read,
    kept,
    isOf: (key) => (code === undefined ? undefined : key.isOf(code, data)),
  };
}

function count(counted: Map<string, Counted>, { name, data }: Entry): void {
  const part = partOf(name);
  const found = counted.get(part) ?? { hash: createHash('sha256'), pieces: 0, bytes: 0 };
  found.hash.update(data);
  found.pieces += 1;
  found.bytes += data.length;
  counted.set(part, found);
}

function compare(parts: readonly PartRecord[], counted: Map<string, Counted>): void {
  for (const { name, pieces, bytes, sha256 } of parts) {
    const found = counted.get(name) ?? { hash: createHash('sha256'), pieces: 0, bytes: 0 };
    counted.delete(name);
    const isSame =
      found.pieces === pieces && found.bytes === bytes && found.hash.digest('hex') === sha256;
    if (!isSame) throw new BackupError(`${name} is damaged: use another backup`);
  }
  const [extra] = counted.keys();
  if (extra !== undefined) throw new BackupError(`${extra} does not belong to it`);
}
