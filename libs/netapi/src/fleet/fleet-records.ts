import { Bucket, type Bus, escapeKey } from '@brine/bus';
import { mapIn, type SaltMap, unpackMap } from '@brine/wire';
import { type KeyRecord, keyRecord } from './key-record.ts';

/** Grains as a minion sent them last. */
export interface StoredGrains {
  readonly grains: SaltMap;
  /** Unix ms; undefined: not known. */
  readonly updatedMs: number | undefined;
}

/** Records that are read at once. */
const AT_ONCE = 64;

/** Whole records of minions, each read when it is asked for. */
export class FleetRecords {
  readonly #keys: Bucket;
  readonly #minions: Bucket;

  constructor(bus: Bus) {
    this.#keys = new Bucket(bus, 'brine_keys');
    this.#minions = new Bucket(bus, 'brine_minions');
  }

  /** The keys of these minions, in their order. @throws BusError */
  async keys(ids: readonly string[]): Promise<readonly (KeyRecord | undefined)[]> {
    const found: (KeyRecord | undefined)[] = [];
    for (let from = 0; from < ids.length; from += AT_ONCE) {
      const some = ids.slice(from, from + AT_ONCE);
      const entries = await Promise.all(some.map((id) => this.#keys.get(escapeKey(id))));
      found.push(...entries.map((entry) => entry && keyRecord(entry.value)));
    }
    return found;
  }

  /** The grains of a minion; undefined without any. @throws BusError, WireError */
  async grains(id: string): Promise<StoredGrains | undefined> {
    const entry = await this.#minions.get(escapeKey(id));
    if (entry === undefined || entry.value.length === 0) return undefined;
    const record = unpackMap(entry.value);
    const grains = mapIn(record, 'grains');
    const updatedMs = record.get('updated_at');
    if (grains === undefined) return undefined;
    return { grains, updatedMs: typeof updatedMs === 'number' ? updatedMs : undefined };
  }
}
