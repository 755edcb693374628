import type { RecordStore } from '../src/leases.ts';

/** One record of a bucket in memory. */
export class MemoryRecord implements RecordStore {
  #value: Uint8Array | undefined;
  #revision = 0;
  /** While set, every call fails. */
  isAway = false;

  get(): ReturnType<RecordStore['get']> {
    this.#check();
    const entry = { value: this.#value ?? Buffer.alloc(0), revision: this.#revision };
    return Promise.resolve(this.#revision === 0 ? undefined : entry);
  }

  set(value: Uint8Array, revision: number): Promise<number | undefined> {
    this.#check();
    if (revision !== this.#revision) return Promise.resolve(undefined);
    this.#value = value;
    return Promise.resolve((this.#revision += 1));
  }

  /** What it holds. */
  get content(): unknown {
    if (this.#value === undefined) return undefined;
    return JSON.parse(Buffer.from(this.#value).toString()) as unknown;
  }

  #check(): void {
    if (this.isAway) throw Object.assign(new Error('NATS is away'), { retryable: true });
  }
}
