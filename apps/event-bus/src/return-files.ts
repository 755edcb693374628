import type { EventReader, StoredEvent } from '@brine/bus';
import type { JobFiles } from '@brine/cachedir';
import { isMinionId, parseTag } from '@brine/job';
import { textOf, unpackMap, WireError } from '@brine/wire';
import type { SaltMap, SaltValue } from '@brine/wire';

/** Returns handled at the same time: bounds open files. */
const BATCH = 64;
const RETRY_MS = 5_000;

/**
 * Writes `return.p` of every return, for stock `salt-run jobs.*` on this host. In the background
 * and at its own pace: nobody waits for it, and the stream keeps what is not written yet.
 */
export class ReturnFiles {
  readonly #files: JobFiles;
  readonly #reader: EventReader;
  readonly #onTrouble: (error: unknown) => void;
  readonly #counts = { written: 0, repeated: 0, failed: 0 };

  constructor(files: JobFiles, reader: EventReader, onTrouble: (error: unknown) => void) {
    this.#files = files;
    this.#reader = reader;
    this.#onTrouble = onTrouble;
  }

  stats(): object {
    return { ...this.#counts };
  }

  /** Runs until the reader is closed. */
  async run(): Promise<void> {
    for await (const events of this.#reader.batches(BATCH)) {
      await Promise.all(events.map((event) => this.#write(event)));
    }
  }

  async #write(event: StoredEvent): Promise<void> {
    const tag = parseTag(event.tag);
    if (tag.kind !== 'job-return' || !isMinionId(tag.id)) {
      event.ack();
      return;
    }
    try {
      const data = unpackMap(await event.body());
      const first = await this.#files.writeReturn(
        tag.jid,
        tag.id,
        storedValue(data),
        textOf(data, 'out'),
      );
      if (first) this.#counts.written += 1;
      else this.#counts.repeated += 1;
      event.ack();
    } catch (error) {
      this.#counts.failed += 1;
      this.#onTrouble(error);
      // What is no return will never be one; a full disk may have room later.
      if (error instanceof WireError) event.ack();
      else event.nak(RETRY_MS);
    }
  }
}

/** Salt: salt/returners/local_cache.py returner stores these of a return, where present. */
function storedValue(data: SaltMap): SaltMap {
  const value: SaltMap = new Map<SaltValue, SaltValue>();
  for (const key of ['return', 'retcode', 'success']) {
    const field = data.get(key);
    if (field !== undefined) value.set(key, field);
  }
  return value;
}
