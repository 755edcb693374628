import { mkdir, readdir, stat, utimes } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { MasterOptions } from '@brine/config';
import { normalisePem } from '@brine/crypt';
import {
  asOwnerOf,
  isSystemError,
  type Owner,
  readBounded,
  writeAtomic,
  writeNew,
} from '@brine/files';
import { RefusedError } from '@brine/master-host';
import { ownerIn } from '@brine/master-host/files';
import { ensureKeyDirs, keyDirs, KeyStore, PkiError, shelfDir } from '@brine/pki';
import {
  type KeyMove,
  missingKeys,
  sameKeys,
  type Shelf,
  SHELVES,
  type Shelves,
} from '../key-moves.ts';

const PRIVATE_MODE = 0o400;
const PUBLIC_MODE = 0o644;
/** Keys are small, and so are lists of ids that people write. */
const KEY_MAX_BYTES = 1024 * 1024;
const LIST_MAX_BYTES = 16 * 1024 * 1024;
/** Keys that are read, then written, at once. */
const KEYS_AT_ONCE = 1_000;

/** The key directory of a master, and the file names of its pair. */
interface KeyHome {
  readonly dir: string;
  readonly pair: 'master' | 'cluster';
  /** 3008 names the pair so too, and `master.pem` may be gone. */
  readonly otherName: string;
}

function homeOf({ pkiDir, masterKeyName, id }: MasterOptions): KeyHome {
  return { dir: pkiDir, pair: masterKeyName, otherName: id.replace(/_master$/, '') };
}

/** The result of moving key files. */
export interface KeyReport {
  /** True where both masters use the same directory. */
  readonly isShared: boolean;
  /** Number of keys of the source, by state. */
  readonly counts: Readonly<Record<Shelf, number>>;
  readonly added: number;
  readonly removed: number;
  /** Minions whose key or state differs and was not changed. */
  readonly differ: readonly string[];
  readonly accepted: ReadonlySet<string>;
}

/** Two masters, and the direction. */
export interface KeyWay {
  readonly from: MasterOptions;
  readonly to: MasterOptions;
  /** `add`: existing keys stay; `mirror`: afterwards both are the same. */
  readonly how: 'add' | 'mirror';
  readonly owner: Owner | undefined;
  readonly isDry: boolean;
}

/**
 * Copies key files from one master to another: the master's own pair, then those of minions.
 * @throws RefusedError if the masters' own keys differ, or one can not be read
 */
export async function moveKeys(way: KeyWay): Promise<KeyReport> {
  const [from, to] = [homeOf(way.from), homeOf(way.to)];
  const given = await listingOf(from.dir);
  const accepted = new Set(given.accepted);
  const counts = Object.fromEntries(SHELVES.map((shelf) => [shelf, given[shelf].length]));
  const report = { counts: counts as Record<Shelf, number>, accepted };
  const isShared = (await realPlace(from.dir)) === (await realPlace(to.dir));
  await assertSamePair(from, to);
  if (isShared && from.pair === to.pair) {
    // A 3008 master may have its pair under its id alone.
    if (!way.isDry) await copyPairs(way, from, to);
    return { ...report, isShared, added: 0, removed: 0, differ: [] };
  }
  if (!way.isDry) {
    await inKeys(to.dir, async () => {
      await ensureKeyDirs(to.dir);
      await new KeyStore(to.dir).removeOldDrafts();
    });
    await copyPairs(way, from, to);
  }
  const there = await listingIfThere(to.dir);
  const isSame = await sameTexts(from.dir, to.dir, given, there);
  const { moves, differ } =
    way.how === 'add'
      ? missingKeys(given, there, isSame)
      : { moves: sameKeys(given, there, isSame), differ: [] };
  for (let at = 0; !way.isDry && at < moves.length; at += KEYS_AT_ONCE) {
    await apply(moves.slice(at, at + KEYS_AT_ONCE), from.dir, to.dir);
  }
  const added = moves.filter(({ act }) => act === 'add').length;
  return { ...report, isShared: false, added, removed: moves.length - added, differ };
}

/** Runs `work` as the owner of a pki_dir. */
function inKeys<T>(dir: string, work: () => Promise<T>): Promise<T> {
  return asOwnerOf(keyDirs(dir), work);
}

/** The text of a file, read as the owner of its directory. */
async function textIn(path: string, maxBytes = KEY_MAX_BYTES): Promise<string | undefined> {
  const read = () => readBounded(path, maxBytes);
  return (await asOwnerOf(dirname(path), read))?.toString('utf8');
}

/** Without a directory `minions`, no master has run there. */
async function listingOf(dir: string): Promise<Shelves> {
  try {
    await inKeys(dir, () => new KeyStore(dir).names('accepted'));
  } catch (error) {
    if (!(error instanceof PkiError)) throw error;
    throw new RefusedError(
      `${shelfDir(dir, 'accepted')} can not be read: no master has run with this pki_dir, or it ` +
        'belongs to another user (run this as root)',
    );
  }
  return listingIfThere(dir);
}

async function listingIfThere(dir: string): Promise<Shelves> {
  const store = new KeyStore(dir);
  const names = async (shelf: Shelf): Promise<readonly string[]> => {
    try {
      return await store.names(shelf);
    } catch (error) {
      if (error instanceof PkiError && isSystemError(error.cause, 'ENOENT')) return [];
      throw error;
    }
  };
  return inKeys(dir, async () => {
    const all: [Shelf, readonly string[]][] = [];
    for (const shelf of SHELVES) all.push([shelf, await names(shelf)]);
    return Object.fromEntries(all) as Record<Shelf, readonly string[]>;
  });
}

/** Reads the keys that both have, so that the comparison itself is synchronous. */
async function sameTexts(
  from: string,
  to: string,
  given: Shelves,
  there: Shelves,
): Promise<(shelf: Shelf, id: string) => boolean> {
  const same = new Set<string>();
  for (const shelf of SHELVES) {
    const known = new Set(there[shelf]);
    const both = given[shelf].filter((name) => known.has(name));
    for (let at = 0; at < both.length; at += KEYS_AT_ONCE) {
      const some = both.slice(at, at + KEYS_AT_ONCE);
      // An autosign stub has no content to compare.
      const isStub = shelf === 'autosign';
      const [ours, theirs] = isStub
        ? [[], []]
        : [await keysIn(from, shelf, some), await keysIn(to, shelf, some)];
      some.forEach((id, which) => {
        if (isStub || ours[which] === theirs[which]) same.add(`${shelf}/${id}`);
      });
    }
  }
  return (shelf, id) => same.has(`${shelf}/${id}`);
}

function keysIn(
  dir: string,
  shelf: Shelf,
  ids: readonly string[],
): Promise<(string | undefined)[]> {
  const store = new KeyStore(dir);
  return inKeys(dir, async () => {
    const texts: (string | undefined)[] = [];
    for (const id of ids) texts.push(await store.readShelf(shelf, id));
    return texts;
  });
}

/** Content and times of a key file. */
interface KeyFile {
  readonly text: string;
  readonly atime: Date;
  readonly mtime: Date;
}

async function apply(moves: readonly KeyMove[], from: string, to: string): Promise<void> {
  const texts = await inKeys(from, async () => {
    const found = new Map<KeyMove, KeyFile | undefined>();
    for (const move of moves) {
      if (move.act === 'add') found.set(move, await keyFile(new KeyStore(from), move));
    }
    return found;
  });
  const store = new KeyStore(to);
  await inKeys(to, async () => {
    for (const move of moves) {
      const { act, shelf, id } = move;
      if (act === 'remove') {
        await store.remove(shelf, id);
        continue;
      }
      const found = texts.get(move);
      // Removed meanwhile by its running master.
      if (found === undefined) continue;
      if (shelf !== 'autosign') {
        await store.write(shelf, id, found.text);
        continue;
      }
      // A stub may be empty; it expires by its time.
      const target = join(shelfDir(to, shelf), id);
      await writeAtomic(target, found.text, { mode: PUBLIC_MODE });
      await utimes(target, found.atime, found.mtime);
    }
  });
}

async function keyFile(store: KeyStore, { shelf, id }: KeyMove): Promise<KeyFile | undefined> {
  const text = await store.readText(shelf, id);
  if (text === undefined) return undefined;
  const { atime, mtime } = await stat(join(shelfDir(store.pkiDir, shelf), id));
  return { text, atime, mtime };
}

/** Minions refuse a master whose key they do not know. */
async function assertSamePair(from: KeyHome, to: KeyHome): Promise<void> {
  const [given, there] = [await publicOf(from), await publicOf(to)];
  if (given === undefined) {
    throw new RefusedError(
      `${pairPath(from, 'pub')} can not be read: no master has run with this pki_dir`,
    );
  }
  if (there === undefined || given === there) return;
  throw new RefusedError(
    `${pairPath(to, 'pem')} is another key than ${pairPath(from, 'pem')}, so minions would ` +
      `refuse their master: move ${to.pair}.pem and ${to.pair}.pub out of ${to.dir} ` +
      'if no minion knows them',
  );
}

async function publicOf(home: KeyHome): Promise<string | undefined> {
  const text = await pairText(home, 'pub');
  return text === undefined ? undefined : normalisePem(text);
}

async function pairText(home: KeyHome, end: 'pem' | 'pub'): Promise<string | undefined> {
  const text = await textIn(pairPath(home, end));
  if (text !== undefined || home.pair === 'cluster') return text;
  return textIn(join(home.dir, `${home.otherName}.${end}`));
}

function pairPath({ dir, pair }: KeyHome, end: 'pem' | 'pub'): string {
  return join(dir, `${pair}.${end}`);
}

/** The pair of the master, and the signing pair if it has one. */
async function copyPairs(way: KeyWay, from: KeyHome, to: KeyHome): Promise<void> {
  const put = async (text: string | undefined, target: string, mode: number): Promise<void> => {
    if (text === undefined) return;
    const dir = dirname(target);
    const owner = ownerIn(dir, way.owner);
    await asOwnerOf(dir, async () => {
      await mkdir(dir, { recursive: true, mode: 0o700 });
      await writeNew(target, text, { mode, owner });
    });
  };
  await put(await pairText(from, 'pem'), pairPath(to, 'pem'), PRIVATE_MODE);
  await put(await pairText(from, 'pub'), pairPath(to, 'pub'), PUBLIC_MODE);
  // Also in a cluster each master signs by the pair in its own pki_dir.
  const copy = async (name: string, mode: number): Promise<void> =>
    put(await textIn(join(way.from.ownPkiDir, name)), join(way.to.ownPkiDir, name), mode);
  const signing = way.from.masterSignKeyName;
  await copy(`${signing}.pem`, PRIVATE_MODE);
  await copy(`${signing}.pub`, PUBLIC_MODE);
  const signature = way.from.masterPubkeySignature ?? `${way.from.id}_pubkey_signature`;
  await copy(signature, PUBLIC_MODE);
}

/**
 * Copies the autosign and autoreject files to where the other master expects them, if it has none.
 * Returns a line for each file, also if it was not copied.
 */
export async function moveSigningFiles(
  from: MasterOptions,
  to: MasterOptions,
  owner: Owner | undefined,
): Promise<readonly string[]> {
  const pairs: (readonly [string | undefined, string | undefined])[] = [
    [from.autosignFile, to.autosignFile],
    [from.autorejectFile, to.autorejectFile],
  ];
  const [given, wanted] = [from.autosignGrainsDir, to.autosignGrainsDir];
  if (given && wanted) {
    for (const name of await namesIn(given)) pairs.push([join(given, name), join(wanted, name)]);
  }
  const lines: string[] = [];
  for (const [source, target] of pairs) {
    if (!source || !target || source === target) continue;
    const text = await textIn(source, LIST_MAX_BYTES);
    if (text === undefined || (await textIn(target, LIST_MAX_BYTES)) !== undefined) continue;
    const dir = dirname(target);
    if ((await realPlace(dir)) === undefined) {
      lines.push(`not copied: ${source}: ${dir} is not there\n`);
      continue;
    }
    const { mode } = await asOwnerOf(dirname(source), () => stat(source));
    const kind = { mode: mode & 0o777, owner: ownerIn(dir, owner) };
    await asOwnerOf(dir, () => writeAtomic(target, text, kind));
    lines.push(`copied: ${target}\n`);
  }
  return lines;
}

async function namesIn(dir: string): Promise<readonly string[]> {
  try {
    const entries = await asOwnerOf(dir, () => readdir(dir, { withFileTypes: true }));
    return entries.filter((entry) => entry.isFile()).map((entry) => basename(entry.name));
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
}

/** Identity of the file or directory at a path; undefined if it is missing. */
async function realPlace(path: string): Promise<string | undefined> {
  try {
    const { dev, ino } = await asOwnerOf(path, () => stat(path));
    return `${dev}:${ino}`;
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}
