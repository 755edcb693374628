import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, posix } from 'node:path';
import { withLock } from '@brine/files';
import type { Ignored } from './ignore.ts';

/** Which files are looked at. */
export interface RootsChangesOptions {
  readonly fileRoots: Readonly<Record<string, readonly string[]>>;
  readonly ignored: Ignored;
  /** Salt's `<cachedir>/roots/mtime_map`: what was found last, a line for each file. */
  readonly mapPath: string;
  /** One worker of a host looks in this time, in ms. */
  readonly everyMs: number;
  /** Called once when there are more files than are looked at. */
  readonly onTooMany: (files: number) => void;
}

/** The files that are not as they were (Salt: salt/fileserver/roots.py update). */
export interface RootsChange {
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

/** Files that are looked at; beyond that the rest is not. */
const FILES_MAX = 200_000;
/** Names of each list; an event holds no more. */
const NAMES_MAX = 10_000;
/** The timers of workers differ by a little. */
const EARLY_SHARE = 0.9;

/**
 * Finds what changed in the roots since the last look of any worker of this host. What was found is
 * kept in the file of Salt's own master, so a restart does not make all files new.
 */
export class RootsChanges {
  readonly #options: RootsChangesOptions;
  #isReported = false;

  constructor(options: RootsChangesOptions) {
    this.#options = options;
  }

  /** Undefined where nothing changed, or another worker of this host has just looked. */
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
      // One that is gone or closed to us has no files.
      const entries = await readdir(dir, { withFileTypes: true }).catch(() => []);
      for (const entry of entries) {
        const path = posix.join(dir, entry.name);
        if (entry.isDirectory()) {
          dirs.push(path);
          continue;
        }
        // A line of the map would not come back; no request can ask for such a name either.
        if (/[\n\r\ufffd]/.test(path) || this.#options.ignored(path)) continue;
        // A link that leads nowhere has no time.
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

/** Python and Node write the same time with other digits at its end. */
function isSameTime(one: number, other: number): boolean {
  return Math.abs(one - other) < 1e-5;
}
