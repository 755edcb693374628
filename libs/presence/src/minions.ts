import type { Minion, ProvenAddress } from './known.ts';

/** An address at which a minion did not prove itself for so much longer than at another is old. */
const OLD_ADDRESS_MS = 600_000;

/** A minion of which nothing else is known. */
export function newMinion(id: string, shard: number): Minion {
  return {
    ...{ id, shard, addresses: [], places: [], present: false, told: false, sinceMs: 0, goneMs: 0 },
    ...{ heardMs: -Infinity, placed: false, loose: undefined, floats: undefined },
    ...{ inquiry: undefined, mutedUntilMs: -Infinity, silentMs: undefined },
  };
}

/** The addresses after a minion proved itself at one; the same list where none came or went. */
export function withAddress(
  known: readonly ProvenAddress[],
  address: string,
  atMs: number,
): readonly ProvenAddress[] {
  const [first, second] = known;
  if (first?.address === address) {
    first.atMs = Math.max(first.atMs, atMs);
    return second !== undefined && first.atMs - second.atMs > OLD_ADDRESS_MS ? [first] : known;
  }
  if (second?.address === address) {
    second.atMs = Math.max(second.atMs, atMs);
    return known;
  }
  return first === undefined ? [{ address, atMs }] : [{ address, atMs }, first];
}

/** Whether there is a connection at one of its places. */
export function isPlugged({ places }: Minion): boolean {
  return places.some((place) => place.total > 0);
}
