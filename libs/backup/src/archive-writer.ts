import { createHash } from 'node:crypto';
import { createTarPacker } from 'modern-tar';
import type { PartRecord } from './manifest.ts';

/** Largest size of a piece. A tar entry needs its size before its bytes. */
const PIECE_BYTES = 1024 * 1024;
const MODE = 0o600;

/** Takes the next bytes of the archive. Resolves when it is ready for more. */
export type Write = (bytes: Uint8Array) => Promise<void>;

/** Writes a tar archive whose parts have no size beforehand: each is cut into pieces of 1 MiB. */
export class ArchiveWriter {
  readonly parts: PartRecord[] = [];
  readonly #tar = createTarPacker();
  readonly #written: Promise<void>;
  readonly #mtime: Date;
  #fault: { readonly error: unknown } | undefined;

  constructor(write: Write, mtime: Date) {
    this.#mtime = mtime;
    this.#written = this.#forward(write);
    // `end` reports a failure; until then it stops the next entry.
    this.#written.catch(() => undefined);
  }

  /** Writes an entry that is no part: the head and the manifest. */
  async entry(name: string, data: Uint8Array): Promise<void> {
    const header = { name, size: data.length, mode: MODE, mtime: this.#mtime };
    try {
      const body = this.#tar.controller.add(header).getWriter();
      if (data.length > 0) await body.write(data);
      await body.close();
    } catch (error) {
      throw this.#fault?.error ?? error;
    }
  }

  /** Writes a part that is one entry. */
  async file(name: string, data: Uint8Array): Promise<PartRecord> {
    await this.entry(name, data);
    const sha256 = createHash('sha256').update(data).digest('hex');
    return this.#recorded({ name, pieces: 1, bytes: data.length, sha256 });
  }

  /** Writes a part in pieces. A failure of its source aborts the archive. */
  async part(name: string, chunks: AsyncIterable<Uint8Array>): Promise<PartRecord> {
    const hash = createHash('sha256');
    let [pieces, bytes, waiting] = [0, 0, 0];
    let taken: Uint8Array[] = [];
    const write = (piece: Uint8Array): Promise<void> => {
      pieces += 1;
      return this.entry(`${name}/${String(pieces).padStart(6, '0')}`, piece);
    };
    for await (const chunk of chunks) {
      hash.update(chunk);
      taken.push(chunk);
      bytes += chunk.length;
      waiting += chunk.length;
      if (waiting < PIECE_BYTES) continue;
      let all = Buffer.concat(taken, waiting);
      for (; all.length >= PIECE_BYTES; all = all.subarray(PIECE_BYTES)) {
        await write(all.subarray(0, PIECE_BYTES));
      }
      [taken, waiting] = [[all], all.length];
    }
    if (waiting > 0) await write(Buffer.concat(taken, waiting));
    return this.#recorded({ name, pieces, bytes, sha256: hash.digest('hex') });
  }

  /** Ends the archive; resolves when everything is written. */
  async end(): Promise<void> {
    if (this.#fault === undefined) this.#tar.controller.finalize();
    await this.#written;
  }

  /** Aborts the archive; nothing more is written. */
  abort(reason: unknown): void {
    this.#tar.controller.error(reason);
  }

  #recorded(record: PartRecord): PartRecord {
    this.parts.push(record);
    return record;
  }

  async #forward(write: Write): Promise<void> {
    const source = this.#tar.readable.getReader();
    try {
      for (let next = await source.read(); !next.done; next = await source.read()) {
        await write(next.value);
      }
    } catch (error) {
      // Fails the entry that is being written, or the next one.
      this.#fault = { error };
      this.#tar.controller.error(error);
      throw error;
    }
  }
}
