import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type Git, GitPillarError } from './git.ts';

/** Bounds of the checkouts of one repository; those unused for longest go first. */
export const CHECKOUT_LIMITS = {
  /** Checkouts of one repository. */
  trees: 256,
  /** All of them together. */
  bytes: 1024 * 1024 * 1024,
} as const;

/** A checkout requested within this time may still be read: a pillar takes up to 45 s. */
const READING_MS = 120_000;
/** Its last use is noted at most this often. */
const NOTE_MS = 30_000;
/** What a thread that was ended left half made. */
const ABANDONED_MS = 600_000;

/** Beside each checkout: its size in bytes, last written or touched when it was last asked for. */
const NOTE = '.used';

/**
 * The directory with the files of a commit, made where it is not there.
 * @throws GitPillarError where there is no room: all others are in use, or it is too large alone
 */
export function placeTree(
  git: Git,
  dir: string,
  commit: string,
  limits: { readonly trees: number; readonly bytes: number } = CHECKOUT_LIMITS,
): string {
  const trees = join(dir, 'trees');
  const tree = join(trees, commit);
  noteUse(git, tree, commit);
  // After the note of its use: making room removes the trees with the oldest notes first.
  if (existsSync(tree)) return tree;
  mkdirSync(trees, { recursive: true, mode: 0o700 });
  const bytes = sizeOf(git, commit);
  makeRoom(dir, bytes, limits);
  const made = mkdtempSync(join(dir, 'making-'));
  const files = join(made, 'files');
  mkdirSync(files);
  const empty = git.ask(['ls-tree', '--name-only', commit]) === '';
  const index = { GIT_INDEX_FILE: join(made, 'index') };
  try {
    if (!empty) git.run([`--work-tree=${files}`, 'checkout', '--force', commit, '--', '.'], index);
    writeFileSync(`${tree}${NOTE}`, String(bytes));
    renameSync(files, tree);
  } catch (error) {
    // Another thread was faster.
    if (!existsSync(tree)) throw error;
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
  return tree;
}

function noteUse(git: Git, tree: string, commit: string): void {
  const note = statSync(`${tree}${NOTE}`, { throwIfNoEntry: false });
  if (note === undefined) {
    // Made by a version without notes.
    if (existsSync(tree)) writeFileSync(`${tree}${NOTE}`, String(sizeOf(git, commit)));
    return;
  }
  if (Date.now() - note.mtimeMs < NOTE_MS) return;
  const now = new Date();
  try {
    utimesSync(`${tree}${NOTE}`, now, now);
  } catch (error) {
    // It was removed at this moment: then it is made again.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** Bytes of the files of a commit. */
function sizeOf(git: Git, commit: string): number {
  const listed = git.run(['ls-tree', '-r', '-l', '--full-tree', commit]);
  const sizes = listed.matchAll(/^\d+ blob [0-9a-f]+ +(\d+)\t/gm);
  return [...sizes].reduce((sum, [, size]) => sum + Number(size), 0);
}

interface Kept {
  readonly path: string;
  readonly bytes: number;
  readonly usedMs: number;
}

function makeRoom(
  dir: string,
  bytes: number,
  limits: { readonly trees: number; readonly bytes: number },
): void {
  dropAbandoned(dir);
  const kept = keptTrees(join(dir, 'trees'));
  let count = kept.length + 1;
  let total = kept.reduce((sum, tree) => sum + tree.bytes, bytes);
  const isFull = (): boolean => count > limits.trees || total > limits.bytes;
  for (const tree of kept.sort((a, b) => a.usedMs - b.usedMs)) {
    if (!isFull()) return;
    if (Date.now() - usedMsOf(tree.path) < READING_MS) continue;
    dropTree(dir, tree.path);
    count -= 1;
    total -= tree.bytes;
  }
  if (isFull()) {
    throw new GitPillarError(
      `no room for one more checkout: ${kept.length} of ${limits.trees} are there, ` +
        `${total} of ${limits.bytes} bytes would be taken`,
    );
  }
}

function keptTrees(trees: string): Kept[] {
  const names = readdirSync(trees).filter((name) => !name.endsWith(NOTE));
  return names.map((name) => {
    const path = join(trees, name);
    return { path, bytes: bytesOf(path), usedMs: usedMsOf(path) };
  });
}

function bytesOf(tree: string): number {
  try {
    return Number(readFileSync(`${tree}${NOTE}`, 'utf8'));
  } catch (error) {
    // Made by a version without notes, and not asked for since.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return 0;
  }
}

function usedMsOf(tree: string): number {
  const note = statSync(`${tree}${NOTE}`, { throwIfNoEntry: false });
  return (note ?? statSync(tree, { throwIfNoEntry: false }))?.mtimeMs ?? 0;
}

/** Renames it first, so that no reader finds half a tree. */
function dropTree(dir: string, tree: string): void {
  const gone = mkdtempSync(join(dir, 'making-'));
  try {
    renameSync(tree, join(gone, 'files'));
    rmSync(`${tree}${NOTE}`, { force: true });
  } catch (error) {
    // Another thread dropped it.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  } finally {
    rmSync(gone, { recursive: true, force: true });
  }
}

function dropAbandoned(dir: string): void {
  for (const name of readdirSync(dir).filter((one) => one.startsWith('making-'))) {
    const facts = statSync(join(dir, name), { throwIfNoEntry: false });
    if (facts === undefined || Date.now() - facts.mtimeMs < ABANDONED_MS) continue;
    rmSync(join(dir, name), { recursive: true, force: true });
  }
}
