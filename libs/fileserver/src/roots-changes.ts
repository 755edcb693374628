import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, posix } from 'node:path';
import { withLock } from '@brine/files';
import type { Ignored } from './ignore.ts';

/** Selects the files to check. */
export interface RootsChangesOptions {
  readonly fileRoots: Readonly<Record<string, readonly string[]>>;
  readonly ignored: Ignored;
  /** Salt's `<cachedir>/roots/mtime_map`: the last state, a line for each file. */
  readonly mapPath: string;
  /** One worker of a host checks in this time, in ms. */
  readonly everyMs: number;
  /** Called once when there are more files than are checked. */
  readonly onTooMany: (files: number) => void;
}

/** The files that changed (Salt: salt/fileserver/roots.py update). */
export interface RootsChange {
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

/** Most files that are checked; the rest is skipped. */
const FILES_MAX = 200_000;
/** Names of each list in an event. */
const NAMES_MAX = 10_000;
/** The timers of workers differ by a little. */
const EARLY_SHARE = 0.9;

/**
 * Finds changes in the roots since the last check of any worker of this host. The state is kept in
 * the file of Salt's own master, so after a restart no file counts as new.
 */
export class RootsChanges {
  readonly #options: RootsChangesOptions;
  #isReported = false;

  constructor(options: RootsChangesOptions) {
    this.#options = options;
  }

  /** Undefined if nothing changed, or if another worker of this host has just checked. */
  async look(nowMs: number): Promise<RootsChange | undefined> {
    const { mapPath, everyMs } = this.#options;
    return withLock(`${mapPath}.lk`, async () => {
      const written = await stat(mapPath).catch(() => undefined);
      const isDue = written === undefined || nowMs - written.mtimeMs >= everyMs * EARLY_SHARE;
      if (!isDue) return undefined;
      const before = await readMap(mapPath);
      const now = await this.#find();
      await writeMap(mapPath, now);
      return differences(before, now);
    });
  }

  async #find(): Promise<Map<string, number>> {
    const { fileRoots, onTooMany } = this.#options;
    const found = new Map<string, number>();
    for (const root of Object.values(fileRoots).flat()) {
      if (await this.#walk(root, found)) continue;
      if (!this.#isReported) onTooMany(FILES_MAX);
      this.#isReported = true;
      break;
    }
    return found;
  }

  /** False once there are too many. Links to directories are not followed, as by `os.walk`. */
  async #walk(root: string, found: Map<string, number>): Promise<boolean> {
    const dirs = [root];
    for (let dir = dirs.pop(); dir !== undefined; dir = dirs.pop()) {
      // A missing or unreadable directory has no files.
      const entries = await readdir(dir, { withFileTypes: true }).catch(() => []);
      for (const entry of entries) {
        const path = posix.join(dir, entry.name);
        if (entry.isDirectory()) {
          dirs.push(path);
          continue;
        }
        // The map could not be read back, and no request can ask for such a name.
        if (/[\n\r\ufffd]/.test(path) || this.#options.ignored(path)) continue;
        // A broken link has no time.
        const facts = await stat(path).catch(() => undefined);
        if (facts === undefined || facts.isDirectory()) continue;
        if (found.size >= FILES_MAX) return false;
        found.set(path, facts.mtimeMs / 1_000);
      }
    }
    return true;
  }
}

async function readMap(path: string): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  const text = await readFile(path, 'utf8').catch(() => '');
  for (const line of text.split('\n')) {
    const at = line.lastIndexOf(':');
    const seconds = at < 0 ? NaN : Number(line.slice(at + 1));
    if (Number.isFinite(seconds)) found.set(line.slice(0, at), seconds);
  }
  return found;
}

async function writeMap(path: string, map: ReadonlyMap<string, number>): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const text = Array.from(map, ([file, seconds]) => `${file}:${seconds}\n`).join('');
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

function differences(
  before: ReadonlyMap<string, number>,
  now: ReadonlyMap<string, number>,
): RootsChange | undefined {
  const [changed, removed, added]: [string[], string[], string[]] = [[], [], []];
  for (const [path, seconds] of now) {
    const known = before.get(path);
    if (known === undefined) added.push(path);
    else if (!isSameTime(known, seconds)) changed.push(path);
  }
  for (const path of before.keys()) if (!now.has(path)) removed.push(path);
  if (changed.length + removed.length + added.length === 0) return undefined;
  const first = (names: readonly string[]): string[] => names.slice(0, NAMES_MAX);
  return { changed: first(changed), removed: first(removed), added: first(added) };
}

/** Python and Node round the last digits of a time differently. */
function isSameTime(one: number, other: number): boolean {
  return Math.abs(one - other) < 1e-5;
}
