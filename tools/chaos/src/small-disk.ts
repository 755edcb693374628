import { execFile } from 'node:child_process';
import { cp, mkdir, rename, rmdir, statfs } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Room for data written between measuring and filling the disk. */
const MARGIN_BYTES = 65_536;
/** Tries to fill the disk: a busy writer may take the margin. */
const TRIES = 20;
/** Pause before the retry for a disk that is in use. */
const BUSY_MS = 500;

/** A separate disk (tmpfs) for a directory, which can be filled. */
export class SmallDisk {
  readonly #dir: string;
  readonly #bytes: number;
  #mounted = true;

  private constructor(dir: string, bytes: number) {
    this.#dir = dir;
    this.#bytes = bytes;
  }

  /** Undefined if this process may not mount. Makes a missing directory. */
  static async mount(dir: string, bytes: number): Promise<SmallDisk | undefined> {
    if (process.getuid?.() !== 0) return undefined;
    await mkdir(dir, { recursive: true, mode: 0o755 });
    try {
      await run('mount', ['-t', 'tmpfs', '-o', `size=${bytes},mode=755`, 'tmpfs', dir]);
    } catch {
      // No right to mount, or no mount program: skip this kind of fault.
      return undefined;
    }
    return new SmallDisk(dir, bytes);
  }

  /** Shrinks the disk to its content. Throws as mount does. */
  async fill(): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      const { blocks, bfree, bsize } = await statfs(this.#dir);
      try {
        return await this.#resize((blocks - bfree) * bsize + MARGIN_BYTES);
      } catch (error) {
        if (tries === TRIES) throw error;
      }
    }
  }

  /** Restores the room. */
  async empty(): Promise<void> {
    if (this.#mounted) await this.#resize(this.#bytes);
  }

  /** Unmounts it once no process uses it; with `keep` its files stay, on the disk below. */
  async unmount(keep: boolean): Promise<void> {
    if (!this.#mounted) return;
    this.#mounted = false;
    const kept = `${this.#dir}.kept`;
    if (keep) await cp(this.#dir, kept, { recursive: true, preserveTimestamps: true });
    await this.#detach();
    if (!keep) return;
    await rmdir(this.#dir);
    await rename(kept, this.#dir);
  }

  /** The processes that wrote on it may still be ending. */
  async #detach(): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        return void (await run('umount', [this.#dir]));
      } catch (error) {
        if (tries === TRIES) throw error;
        await sleep(BUSY_MS);
      }
    }
  }

  async #resize(bytes: number): Promise<void> {
    await run('mount', ['-o', `remount,size=${bytes}`, this.#dir]);
  }
}
