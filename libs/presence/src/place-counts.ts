import type { Count, Place, Round } from './known.ts';
import type { Publisher } from './publishers.ts';

/** Sets how many connections a publisher has at a place. */
export function setCount(place: Place, by: Publisher, count: number): void {
  const known = countOf(place, by);
  const before = known?.count ?? 0;
  if (before === count) return;
  place.total += count - before;
  if (known !== undefined) {
    known.count = count;
    if (count === 0) drop(place, known);
    return;
  }
  // Connections of the publisher before it are expected to come back to it.
  const heir = place.counts.find((one) => one.hasEnded && one.by.host === by.host);
  const others = place.counts.filter((one) => one !== heir);
  place.counts = [...others, { by, hasEnded: false, count, settled: heir?.settled ?? 0 }];
}

/** Removes all that a publisher had at a place. True if that were connections. */
export function forgetPublisher(place: Place, by: Publisher): boolean {
  const known = countOf(place, by);
  if (known === undefined) return false;
  const { count } = known;
  place.total -= count;
  known.count = 0;
  known.hasEnded = true;
  const heir = place.counts.find((one) => !one.hasEnded && one.by.host === by.host);
  if (heir !== undefined) {
    heir.settled = Math.max(heir.settled, known.settled);
    known.settled = 0;
  }
  drop(place, known);
  return count > 0;
}

/** All minions of the place are accounted for. */
export function settle(place: Place): void {
  for (const one of place.counts) one.settled = one.count;
  if (place.counts.some(({ count }) => count === 0)) dropEmpty(place);
}

/** All minions of the place were accounted for when publishers had these connections. */
export function settleAs(place: Place, counts: Round['counts']): void {
  for (const [by, count] of counts) {
    const known = countOf(place, by);
    if (known !== undefined) known.settled = count;
  }
  dropEmpty(place);
}

/**
 * How many of the present minions have no connection, at least. Each minion has one connection, or
 * one to each publisher. Nothing shows which, so the larger number counts.
 */
export function missingAt({ counts, total }: Place, present: number): number {
  let missing = present - total;
  for (const { count, settled } of counts) {
    if (count < settled) missing = Math.max(missing, Math.min(settled, present) - count);
  }
  return Math.max(0, missing);
}

/**
 * How many connections are missing of minions that can have theirs nowhere else. A minion with two
 * addresses may have it at the other one.
 */
export function surelyMissingAt(place: Place): number {
  let present = 0;
  for (const minion of place.minions) {
    if (minion.state.present && !mayBeElsewhere(minion.places, place)) present += 1;
  }
  return Math.max(0, missingAt(place, present) - place.excused);
}

/** Whether a minion of these places may have its connection at another one than this. */
export function mayBeElsewhere(places: readonly Place[], place: Place): boolean {
  return places.some((one) => one !== place && one.total > 0);
}

/** How many connections came since all minions were accounted for. */
export function newConnectionsAt({ counts }: Place): number {
  let came = 0;
  for (const { count, settled } of counts) came = Math.max(came, count - settled);
  return came;
}

function countOf({ counts }: Place, by: Publisher): Count | undefined {
  return counts.find((one) => one.by === by);
}

/** Forgets a publisher without connections, except for how many a shared place had of it. */
function drop(place: Place, empty: Count): void {
  if (place.minions.size > 1 && empty.settled > 0) return;
  place.counts = place.counts.filter((one) => one !== empty);
}

function dropEmpty(place: Place): void {
  place.counts = place.counts.filter(({ count, settled }) => count > 0 || settled > 0);
}
