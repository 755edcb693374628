import { mkdir, mkdtemp, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isSystemError, textIfThere } from '@brine/files';
import { type GitCall, GitError, runGit } from './run-git.ts';

/** Bounds of the checkouts of one repository; those unused for longest go first. */
export interface CheckoutLimits {
  /** Checkouts of one repository. */
  readonly trees: number;
  /** All of them together. */
  readonly bytes: number;
}

const LIMITS: CheckoutLimits = { trees: 256, bytes: 1024 * 1024 * 1024 };

/** A checkout requested within this time may still be read: a pillar takes up to 45 s. */
const READING_MS = 120_000;
/** Its last use is noted at most this often. */
const NOTE_MS = 30_000;
/** A process that ended left these half made. */
const ABANDONED_MS = 600_000;

/** Beside each checkout: its size in bytes, last written or touched when it was last asked for. */
const NOTE = '.used';
const MAKING = 'making-';

/**
 * The directory with the files of a commit, made where it is missing. It is complete before it has
 * its name, so workers need no lock.
 * @throws GitError if there is no room: all others are in use, or it is too large alone
 */
export async function checkoutOf(
  call: GitCall,
  dir: string,
  commit: string,
  limits = LIMITS,
): Promise<string> {
  const trees = join(dir, 'trees');
  const tree = join(trees, commit);
  await noteUse(tree);
  // After the note of its use: making room removes the trees with the oldest notes first.
  if (await isThere(tree)) return tree;
  await mkdir(trees, { recursive: true, mode: 0o700 });
  const listed = await runGit(['ls-tree', '-r', '-l', '--full-tree', commit], call);
  const sizes = listed.toString('utf8').matchAll(/^\d+ blob [0-9a-f]+ +(\d+)\t/gm);
  const bytes = [...sizes].reduce((sum, [, size]) => sum + Number(size), 0);
  await makeRoom(dir, bytes, limits);
  const made = await mkdtemp(join(dir, MAKING));
  const files = join(made, 'files');
  const env = { ...call.env, GIT_INDEX_FILE: join(made, 'index') };
  const checkout = [`--work-tree=${files}`, 'checkout', '--force', commit, '--', '.'];
  try {
    await mkdir(files);
    if (listed.length > 0) await runGit(checkout, { ...call, env });
    await writeFile(`${tree}${NOTE}`, String(bytes));
    await rename(files, tree);
  } catch (error) {
    // Another worker was faster.
    if (!(await isThere(tree))) throw error;
  } finally {
    await rm(made, { recursive: true, force: true });
  }
  return tree;
}

async function noteUse(tree: string): Promise<void> {
  const note = `${tree}${NOTE}`;
  const usedMs = await modifiedMs(note);
  if (usedMs === undefined || Date.now() - usedMs < NOTE_MS) return;
  const now = new Date();
  // It may be removed at this moment: then it is made again.
  await utimes(note, now, now).catch(unlessGone);
}

async function makeRoom(dir: string, bytes: number, limits: CheckoutLimits): Promise<void> {
  await dropAbandoned(dir);
  const kept = await keptTrees(join(dir, 'trees'));
  let count = kept.length + 1;
  let total = kept.reduce((sum, tree) => sum + tree.bytes, bytes);
  const isFull = (): boolean => count > limits.trees || total > limits.bytes;
  for (const tree of kept.sort((a, b) => a.usedMs - b.usedMs)) {
    if (!isFull()) return;
    const usedMs = (await modifiedMs(`${tree.path}${NOTE}`)) ?? 0;
    if (Date.now() - usedMs < READING_MS) continue;
    await dropTree(dir, tree.path);
    count -= 1;
    total -= tree.bytes;
  }
  if (isFull()) {
    throw new GitError(
      `no room for one more checkout: ${kept.length} of ${limits.trees} are there, ` +
        `${total} of ${limits.bytes} bytes would be taken`,
    );
  }
}

interface KeptTree {
  readonly path: string;
  readonly bytes: number;
  readonly usedMs: number;
}

async function keptTrees(trees: string): Promise<KeptTree[]> {
  const notes = (await readdir(trees)).filter((name) => name.endsWith(NOTE));
  const kept = notes.map(async (name) => {
    const note = join(trees, name);
    const [text, usedMs] = await Promise.all([textIfThere(note), modifiedMs(note)]);
    const path = note.slice(0, -NOTE.length);
    return { path, bytes: Number(text ?? 0), usedMs: usedMs ?? 0 };
  });
  return Promise.all(kept);
}

/** Renames it first, so that no reader finds half a tree. */
async function dropTree(dir: string, tree: string): Promise<void> {
  const gone = await mkdtemp(join(dir, MAKING));
  // Another worker may drop it too.
  await rename(tree, join(gone, 'files')).catch(unlessGone);
  await rm(`${tree}${NOTE}`, { force: true });
  await rm(gone, { recursive: true, force: true });
}

async function dropAbandoned(dir: string): Promise<void> {
  for (const name of (await readdir(dir)).filter((one) => one.startsWith(MAKING))) {
    const madeMs = await modifiedMs(join(dir, name));
    if (madeMs === undefined || Date.now() - madeMs < ABANDONED_MS) continue;
    await rm(join(dir, name), { recursive: true, force: true });
  }
}

async function isThere(path: string): Promise<boolean> {
  return (await modifiedMs(path)) !== undefined;
}

/** Undefined where the file is missing. */
async function modifiedMs(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    return unlessGone(error);
  }
}

function unlessGone(error: unknown): undefined {
  if (isSystemError(error, 'ENOENT')) return undefined;
  throw error;
}
