import { packRecord, type PlaceRecord, readRecord } from './place-record.ts';
import type { SavedPlace } from './returner.ts';

/** The part of a bucket that leases need, for one returner. */
export interface RecordStore {
  get(): Promise<{ readonly value: Uint8Array; readonly revision: number } | undefined>;
  /**
   * Sets the record where it is still the one of `revision`; 0: where there is none. Undefined:
   * another process was first.
   */
  set(value: Uint8Array, revision: number): Promise<number | undefined>;
}

/** What leases work with. */
export interface LeasePorts {
  readonly store: RecordStore;
  /** This process, unlike any other. */
  readonly owner: string;
  /** A monotonic clock, ms. */
  readonly now: () => number;
  /** Resolves after some ms, or at once when `signal` is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** How long an owner that renews nothing keeps a returner, in ms. */
export const LEASE_MS = 15_000;
/** How often an owner renews, in ms. */
export const RENEW_MS = 5_000;
/** How often others look, in ms. */
const LOOK_MS = 1_000;
/** An owner that could not renew for so long no longer writes, in ms. */
const SURE_MS = LEASE_MS - RENEW_MS;

/** Another process writes to the returner now. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
}

/**
 * Waits until this process may write to a returner; undefined once `signal` is aborted. A process
 * that dies keeps it for {@link LEASE_MS}: the others count that time by their own clocks, from
 * when they first saw its last record. Errors of the store are tried again.
 */
export async function claim(
  ports: LeasePorts,
  signal: AbortSignal,
  onTrouble: (error: unknown) => void,
): Promise<Lease | undefined> {
  let seen: { readonly revision: number; readonly atMs: number } | undefined;
  while (!signal.aborted) {
    try {
      const entry = await ports.store.get();
      const record: PlaceRecord = entry === undefined ? { owner: '' } : readRecord(entry.value);
      const revision = entry?.revision ?? 0;
      if (seen?.revision !== revision) seen = { revision, atMs: ports.now() };
      const isFree = record.owner === '' || record.owner === ports.owner;
      if (isFree || ports.now() - seen.atMs > LEASE_MS) {
        const mine = { ...record, owner: ports.owner };
        const written = await ports.store.set(packRecord(mine), revision);
        if (written !== undefined) return new Lease(ports, mine, written);
      }
    } catch (error) {
      onTrouble(error);
    }
    await ports.sleep(LOOK_MS, signal);
  }
  return undefined;
}

/** The right to write to a returner, and its place. */
export class Lease {
  readonly #ports: LeasePorts;
  #record: PlaceRecord;
  #revision: number;
  #renewedMs: number;
  #isLost = false;
  /** Ends when all saves so far have ended. */
  #saving: Promise<unknown> = Promise.resolve();

  constructor(ports: LeasePorts, record: PlaceRecord, revision: number) {
    this.#ports = ports;
    this.#record = record;
    this.#revision = revision;
    this.#renewedMs = ports.now();
  }

  /** What was saved last. */
  get saved(): SavedPlace {
    return this.#record;
  }

  /** Whether another process has it now. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Whether it was renewed lately enough that no other process writes. */
  get isSure(): boolean {
    return !this.#isLost && this.#ports.now() - this.#renewedMs < SURE_MS;
  }

  /**
   * Saves a place and renews; without one, what was saved before. Throws LeaseLostError where
   * another process has the returner now, and what the store throws.
   */
  save(place: SavedPlace = {}): Promise<void> {
    const saving = this.#saving.then(() => this.#save(place, this.#ports.owner));
    this.#saving = saving.catch(() => undefined);
    return saving;
  }

  /** Gives the returner to whoever comes next, at once. Throws as {@link save}. */
  release(place: SavedPlace = {}): Promise<void> {
    const saving = this.#saving.then(() => this.#save(place, ''));
    this.#saving = saving.catch(() => undefined);
    return saving;
  }

  async #save(place: SavedPlace, owner: string): Promise<void> {
    if (this.#isLost) throw new LeaseLostError('another process has it');
    const next = { ...this.#record, ...place, owner };
    const sentMs = this.#ports.now();
    const revision = await this.#ports.store.set(packRecord(next), this.#revision);
    if (revision === undefined) {
      this.#isLost = true;
      throw new LeaseLostError('another process has it');
    }
    this.#revision = revision;
    this.#record = next;
    this.#renewedMs = sentMs;
  }
}
