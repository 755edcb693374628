import type { Bus } from '@brine/bus';
import { EventWriter } from '@brine/bus/events';
import { DropFileWatch, readDropFile, removeDropFile } from '@brine/cachedir';
import { SecretBox } from '@brine/crypt';
import { AesEpochs } from '@brine/master-state';
import type { MasterKeys } from '@brine/pki';
import { LastRuns } from '@brine/service';
import type { Trouble } from '@brine/tasks';
import { mapOf, pack } from '@brine/wire';

/** A deleted key file counts after a second; this limits the wait for a sync that stands still. */
const SETTLE_MS = 5_000;
const PRUNE_EVERY_MS = 600_000;

/** The renewal of AES keys, as the rest of the service sees it. */
export interface AesRotation {
  readonly rotations: number;
  /** When the key in use was made, unix ms. */
  readonly keyMadeMs: number | undefined;
  /** Asks for a new key, because a reader of publications is no longer trusted. */
  want(): void;
  /** When keys were last checked. */
  status(): object;
  close(): Promise<void>;
}

/** Starts the rotation: requests of this host change the AES keys that all services share. */
export async function startRotation(parts: {
  readonly bus: Bus;
  readonly keys: MasterKeys;
  readonly cachedir: string;
  readonly masterId: string;
  /** Seconds after which the key is renewed; 0 keeps it. */
  readonly maxAgeSeconds: number;
  readonly settled: (timeoutMs: number) => Promise<unknown>;
  readonly onTrouble: Trouble;
}): Promise<AesRotation> {
  const { bus, keys, cachedir, masterId, maxAgeSeconds, onTrouble } = parts;
  const epochs = await AesEpochs.connect(bus, SecretBox.fromMasterKey(keys.privatePem, 'aes'));
  const events = new EventWriter(bus);
  const runs = new LastRuns();
  const prune = (): void => {
    epochs.prune().then(
      () => runs.ran('AES keys'),
      (error: unknown) => onTrouble('old AES keys were not forgotten', error),
    );
  };
  const rotation = new Rotation({
    cachedir,
    masterId,
    rotate: () => epochs.rotate(),
    fire: (tag, body) => {
      // One event per epoch, although another host may see the same request.
      const msgId = `key:rotate:${epochs.current().epoch}`;
      return events.append({ kind: 'key', tag, body, msgId });
    },
    settled: () => parts.settled(SETTLE_MS),
    isOld: () => {
      const { madeMs } = epochs.current();
      return maxAgeSeconds > 0 && madeMs !== undefined && Date.now() - madeMs > maxAgeSeconds * 1e3;
    },
    onTrouble,
  });
  void rotation.look();
  prune();
  const pruning = setInterval(prune, PRUNE_EVERY_MS);
  pruning.unref();
  return {
    get rotations() {
      return rotation.rotations;
    },
    get keyMadeMs() {
      return epochs.current().madeMs;
    },
    want: () => rotation.want(),
    status: () => runs.status(),
    close: async () => {
      clearInterval(pruning);
      await rotation.close();
      epochs.close();
    },
  };
}

interface RotationParts {
  readonly cachedir: string;
  readonly masterId: string;
  /** Makes a new AES key for all services; resolves when it is in force. */
  readonly rotate: () => Promise<unknown>;
  readonly fire: (tag: string, data: Uint8Array) => Promise<unknown>;
  /** Waits, for a bounded time, until deleted key files are in the record of keys. */
  readonly settled: () => Promise<unknown>;
  /** True if the key in use has reached the age for its renewal. */
  readonly isOld: () => boolean;
  readonly onTrouble: Trouble;
}

/**
 * Makes a new AES key in three cases: a stock tool asks for it with the drop file, as after
 * `salt-key -d`; a key was deleted or rejected by any means; the key in use is old. A deleted
 * minion must not read later jobs, so every service has to know of the deletion before it gets the
 * new key. The drop file is removed only after the key is in force: after a restart in between the
 * key rotates once more rather than not at all.
 */
class Rotation {
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

  /** The number of rotations. */
  get rotations(): number {
    return this.#rotations;
  }

  /** Asks for a new key; requests that come before it is made are one request. */
  want(): void {
    this.#wanted = true;
    void this.look();
  }

  /** Checks for requests and acts on them; overlapping calls share one check. */
  look(): Promise<void> {
    this.#running ??= this.#act()
      // The watch polls every two seconds.
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
