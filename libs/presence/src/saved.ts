import { createHash } from 'node:crypto';
import { pack, type SaltValue, unpack } from '@brine/wire';

/** What is kept of a minion beyond the life of an owner. Times are unix ms. */
export interface SavedMinion {
  readonly id: string;
  /** As the last change had it. */
  readonly present: boolean;
  readonly sinceMs: number;
  readonly goneMs: number;
  /** It once had a connection at an address of its own. */
  readonly placed: boolean;
  /** Where it proved itself, the latest first. */
  readonly addresses: readonly string[];
}

/** Records of minions lie in so many values: a change writes one of them. */
export const SHARDS = 64;

/** The shard of a minion, 0 to 63. */
export function shardOf(id: string): number {
  return (createHash('sha1').update(id).digest()[0] ?? 0) % SHARDS;
}

/** Packs the minions of one shard. */
export function packMinions(minions: Iterable<SavedMinion>): Buffer {
  const rows: SaltValue[] = [];
  for (const { id, present, sinceMs, goneMs, placed, addresses } of minions) {
    rows.push([id, present, Math.round(sinceMs), Math.round(goneMs), placed, ...addresses]);
  }
  return pack(rows);
}

/** Reads the minions of one shard; what is no record is left out. */
export function readMinions(data: Uint8Array): readonly SavedMinion[] {
  if (data.length === 0) return [];
  const rows = unpack(data);
  if (!Array.isArray(rows)) return [];
  return rows.flatMap((row): SavedMinion[] => {
    if (!Array.isArray(row)) return [];
    const [id, present, sinceMs, goneMs, placed, ...addresses] = row;
    if (typeof id !== 'string' || typeof sinceMs !== 'number') return [];
    return [
      {
        ...{ id, sinceMs, goneMs: typeof goneMs === 'number' ? goneMs : 0 },
        ...{ present: present === true, placed: placed === true },
        addresses: addresses.filter((one) => typeof one === 'string').slice(0, 2),
      },
    ];
  });
}
