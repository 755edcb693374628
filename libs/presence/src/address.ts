import { createHash } from 'node:crypto';

/*
 * A place is where connections to 4505 come from: an address, or an address and a claim. A minion
 * with `zmq_filtering` subscribes to the SHA-1 of its id: that is its claim. Nothing proves a
 * claim, so it counts only at an address where the minion has proven itself.
 */

/** An address at which a minion has proven itself. */
export interface ProvenAddress {
  readonly address: string;
  /** Monotonic ms. */
  atMs: number;
}

/** The longest text that is kept of an address. */
const ADDRESS_MAX = 64;
/** An address at which a minion did not prove itself for so much longer than at another is old. */
const OLD_ADDRESS_MS = 600_000;
const CLAIM = /^[0-9a-f]{40}$/;

/** An address in one form: IPv4 within IPv6 as IPv4, lower case, without a zone. */
export function plainAddress(address: string): string {
  const mapped = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i.exec(address);
  const plain = mapped?.[1] ?? address.replace(/%.*$/, '').toLowerCase();
  return plain.slice(0, ADDRESS_MAX);
}

/** What a minion of this id claims (Salt: `hexid` in salt/transport/zeromq.py). */
export function claimOf(id: string): string {
  return createHash('sha1').update(id).digest('hex');
}

/** The claim among the topics of a connection; undefined for none, and for several. */
export function claimIn(topics: Iterable<string>): string | undefined {
  let found: string | undefined;
  for (const topic of topics) {
    if (!CLAIM.test(topic)) continue;
    if (found !== undefined) return undefined;
    found = topic;
  }
  return found;
}

/** The place of connections with this plain address and claim. */
export function placeOf(address: string, claim?: string): string {
  return claim === undefined ? address : `${address}/${claim}`;
}

/** The claim of a place; undefined where it has none. */
export function claimAt(place: string): string | undefined {
  const at = place.indexOf('/');
  return at === -1 ? undefined : place.slice(at + 1);
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
