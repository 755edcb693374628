import { DropFileWatch, readDropFile, removeDropFile } from '@brine/cachedir';
import type { MasterOptions } from '@brine/config';
import { mapOf, pack } from '@brine/wire';

/** What {@link Rotation} works with. */
export interface RotationParts {
  readonly cachedir: string;
  readonly masterId: string;
  /** Makes a new AES key for all services; resolves when it holds. */
  readonly rotate: () => Promise<unknown>;
  readonly fire: (tag: string, data: Uint8Array) => Promise<unknown>;
  /** Waits, for a bounded time, until deleted key files are in the record of keys. */
  readonly settled: () => Promise<unknown>;
  /** Whether the key in use has reached the age at which it is renewed. */
  readonly isOld: () => boolean;
  readonly onTrouble: (text: string, error?: unknown) => void;
}

/**
 * Makes a new AES key: when a stock tool asks for one by the drop file, as after `salt-key -d`;
 * when a key was deleted or rejected, however that came about; and when the one in use is old.
 * A deleted minion must not read later jobs, so the deletion has to be known to all before the new
 * key is handed out. The drop file is removed only after the key holds, so a restart in between
 * rotates once more rather than not at all.
 */
export class Rotation {
  readonly #parts: RotationParts;
  readonly #watch: DropFileWatch;
  #running: Promise<void> | undefined;
  #rotations = 0;
  #wanted = false;
  #closed = false;

  constructor(parts: RotationParts) {
    this.#parts = parts;
    this.#watch = new DropFileWatch(parts.cachedir, () => void this.look());
  }

  /** How often a new key was made. */
  get rotations(): number {
    return this.#rotations;
  }

  /** Asks for a new key; wishes that come before it is made are one wish. */
  want(): void {
    this.#wanted = true;
    void this.look();
  }

  /** Looks for wishes and acts on them; calls that overlap share one look. */
  look(): Promise<void> {
    this.#running ??= this.#act()
      // The watch looks again every two seconds.
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
    if (found === 'foreign') {
      this.#parts.onTrouble('a drop file that no Salt tool has written was removed');
      await removeDropFile(cachedir);
    }
    const asked = found === 'rotate' || this.#wanted;
    if (!(asked || this.#parts.isOld()) || this.#closed) return;
    if (asked) await this.#parts.settled();
    const wanted = this.#wanted;
    this.#wanted = false;
    try {
      await this.#parts.rotate();
    } catch (error) {
      this.#wanted ||= wanted;
      throw error;
    }
    this.#rotations += 1;
    await removeDropFile(cachedir);
    await this.#parts.fire('key', pack(mapOf({ rotate_aes_key: true }), 'bin'));
  }
}

/** What a gateway may still deliver, and clocks that differ. */
const MARGIN_MS = 10 * 60_000;
const DAY_MS = 86_400_000;

/**
 * How long the bytes of a sealed request are good for, in ms: `request_server_ttl` to both sides of
 * the master's time where it is set; else as long as session keys live as a rule, a day at least.
 */
export function sealedForMs(
  options: Pick<MasterOptions, 'requestServerTtl' | 'publishSession'>,
): number {
  const { requestServerTtl: ttl, publishSession } = options;
  if (ttl > 0) return 2 * ttl * 1000 + MARGIN_MS;
  return Math.max(publishSession * 1000, DAY_MS) + MARGIN_MS;
}
