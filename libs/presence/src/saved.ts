import { createHash } from 'node:crypto';
import { pack, type SaltValue, unpack } from '@brine/wire';

/** A minion as the next owner of presence reads it. Times are unix ms. */
export interface SavedMinion {
  readonly id: string;
  /** As it was reported last. */
  readonly present: boolean;
  readonly sinceMs: number;
  readonly goneMs: number;
  /** Its addresses once had a connection. */
  readonly wasConnected: boolean;
  /** Where it proved itself, the latest first. */
  readonly addresses: readonly string[];
}

/** The records of all minions are spread over this many values: a change writes one of them. */
export const SHARDS = 64;

/** The shard of a minion, 0 to 63. */
export function shardOf(id: string): number {
  return (createHash('sha1').update(id).digest()[0] ?? 0) % SHARDS;
}

/** Packs the minions of one shard. */
export function packMinions(minions: Iterable<SavedMinion>): Buffer {
  const rows: SaltValue[] = [];
  for (const { id, present, sinceMs, goneMs, wasConnected, addresses } of minions) {
    rows.push([id, present, Math.round(sinceMs), Math.round(goneMs), wasConnected, ...addresses]);
  }
  return pack(rows);
}

/** Reads the minions of one shard; invalid records are left out. */
export function readMinions(data: Uint8Array): readonly SavedMinion[] {
  if (data.length === 0) return [];
  const rows = unpack(data);
  if (!Array.isArray(rows)) return [];
  return rows.flatMap((row): SavedMinion[] => {
    if (!Array.isArray(row)) return [];
    const [id, present, sinceMs, goneMs, wasConnected, ...addresses] = row;
    if (typeof id !== 'string' || typeof sinceMs !== 'number') return [];
    return [
      {
        id,
        present: present === true,
        sinceMs,
        goneMs: typeof goneMs === 'number' ? goneMs : 0,
        wasConnected: wasConnected === true,
        addresses: addresses.filter((one) => typeof one === 'string').slice(0, 2),
      },
    ];
  });
}
