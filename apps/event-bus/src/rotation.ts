import { DropFileWatch, readDropFile, removeDropFile } from '@brine/cachedir';
import { mapOf, pack } from '@brine/wire';

/** What {@link Rotation} works with. */
export interface RotationParts {
  readonly cachedir: string;
  readonly masterId: string;
  /** Makes a new AES key for all services; resolves when it holds. */
  readonly rotate: () => Promise<unknown>;
  readonly fire: (tag: string, data: Uint8Array) => Promise<unknown>;
  readonly onTrouble: (text: string, error?: unknown) => void;
}

/**
 * Makes a new AES key when a stock tool asks for one by the drop file, as after `salt-key -d`: a
 * deleted minion must not read later jobs. The file is removed only after the key holds, so a
 * restart in between rotates once more rather than not at all.
 */
export class Rotation {
  readonly #parts: RotationParts;
  readonly #watch: DropFileWatch;
  #running: Promise<void> | undefined;
  #rotations = 0;
  #closed = false;

  constructor(parts: RotationParts) {
    this.#parts = parts;
    this.#watch = new DropFileWatch(parts.cachedir, () => void this.look());
  }

  /** How often a new key was made. */
  get rotations(): number {
    return this.#rotations;
  }

  /** Looks for the drop file and acts on it; calls that overlap share one look. */
  look(): Promise<void> {
    this.#running ??= this.#act()
      .catch((error: unknown) => this.#parts.onTrouble('AES key was not rotated', error))
      .finally(() => {
        this.#running = undefined;
      });
    return this.#running;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#watch.close();
    await this.#running;
  }

  async #act(): Promise<void> {
    const { cachedir, masterId } = this.#parts;
    const found = await readDropFile(cachedir, masterId);
    if (found === 'none' || this.#closed) return;
    if (found === 'foreign') {
      this.#parts.onTrouble('a drop file that no Salt tool has written was removed');
      await removeDropFile(cachedir);
      return;
    }
    await this.#parts.rotate();
    this.#rotations += 1;
    await removeDropFile(cachedir);
    await this.#parts.fire('key', pack(mapOf({ rotate_aes_key: true }), 'bin'));
  }
}
