import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { type GitCall, streamGit } from '@brine/git';
import { Gate } from '@brine/tasks';

/** Files without a request for this long are removed; git can make them again. */
const KEPT_MS = 24 * 60 * 60_000;
/** The time of a file is renewed at most this often. */
const TOUCH_MS = 60 * 60_000;
const EXPORTS_MAX = 4;

/**
 * Contents from git as plain files, by their id. A blob never changes, so all environments, remotes
 * and workers of a host share its file.
 */
export class BlobFiles {
  readonly #dir: string;
  readonly #flights = new Map<string, Promise<string>>();
  readonly #gate = new Gate(EXPORTS_MAX);

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Path of a file with this content. @throws GitError if git does not have it */
  async pathOf(sha: string, call: GitCall): Promise<string> {
    const path = join(this.#dir, sha.slice(0, 2), sha);
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined) {
      if (Date.now() - found.mtimeMs > TOUCH_MS) {
        const now = new Date();
        await utimes(path, now, now).catch(() => undefined);
      }
      return path;
    }
    let flight = this.#flights.get(sha);
    if (flight === undefined) {
      flight = this.#gate
        .run(() => this.#export(sha, path, call))
        .finally(() => this.#flights.delete(sha));
      this.#flights.set(sha, flight);
    }
    return flight;
  }

  /** Removes files without a recent request, and unfinished files of workers that died. */
  async clean(): Promise<void> {
    const before = Date.now() - KEPT_MS;
    for (const part of await readdir(this.#dir).catch(() => [])) {
      for (const name of await readdir(join(this.#dir, part)).catch(() => [])) {
        const path = join(this.#dir, part, name);
        const found = await stat(path).catch(() => undefined);
        if (found !== undefined && found.mtimeMs < before) await rm(path, { force: true });
      }
    }
  }

  async #export(sha: string, path: string, call: GitCall): Promise<string> {
    await mkdir(join(path, '..'), { recursive: true, mode: 0o700 });
    const draft = `${path}.${process.pid}-${randomBytes(6).toString('hex')}`;
    const file = await open(draft, 'wx', 0o600);
    try {
      await streamGit(['cat-file', 'blob', sha], call, async (chunk) => {
        await file.writeFile(chunk);
        return true;
      });
      await file.close();
      await rename(draft, path);
      return path;
    } catch (error) {
      await file.close();
      await rm(draft, { force: true });
      throw error;
    }
  }
}
