import type { At, Minion, Place, Round } from './known.ts';
import type { Publisher } from './publishers.ts';

/** A place without connections and minions. */
export function newPlace(key: string): Place {
  return {
    ...{ key, at: [], total: 0, openedMs: -Infinity, minions: new Set<Minion>(), present: 0 },
    ...{ excused: 0, shortage: undefined, risenMs: undefined },
    ...{ idleRounds: 0, pausedUntilMs: -Infinity },
  };
}

/** Sets how many connections a publisher has there. */
export function setCount(place: Place, by: Publisher, count: number): void {
  const had = place.at.find((one) => one.by === by);
  const before = had?.count ?? 0;
  if (before === count) return;
  place.total += count - before;
  if (had !== undefined) {
    had.count = count;
    if (count === 0) drop(place, had);
    return;
  }
  // Those of the publisher before it are expected to come back to it.
  const heir = place.at.find((one) => one.hasEnded && one.by.host === by.host);
  const others = place.at.filter((one) => one !== heir);
  place.at = [...others, { by, hasEnded: false, count, settled: heir?.settled ?? 0 }];
}

/** Takes away all that a publisher had there. True if that were connections. */
export function forgetPublisher(place: Place, by: Publisher): boolean {
  const had = place.at.find((one) => one.by === by);
  if (had === undefined) return false;
  const { count } = had;
  place.total -= count;
  had.count = 0;
  had.hasEnded = true;
  const heir = place.at.find((one) => !one.hasEnded && one.by.host === by.host);
  if (heir !== undefined) {
    heir.settled = Math.max(heir.settled, had.settled);
    had.settled = 0;
  }
  drop(place, had);
  return count > 0;
}

/** Forgets a publisher without connections; a place that is shared remembers how many it had. */
function drop(place: Place, at: At): void {
  if (place.minions.size > 1 && at.settled > 0) return;
  place.at = place.at.filter((one) => one !== at);
}

/** All minions of the place are accounted for. */
export function settle(place: Place): void {
  for (const at of place.at) at.settled = at.count;
  if (place.at.some(({ count }) => count === 0)) tidyPublishers(place);
}

/** The same as of a time when publishers had so many connections. */
export function settleAs(place: Place, counts: Round['counts']): void {
  for (const [by, count] of counts) {
    const at = place.at.find((one) => one.by === by);
    if (at !== undefined) at.settled = count;
  }
  tidyPublishers(place);
}

function tidyPublishers(place: Place): void {
  place.at = place.at.filter(({ count, settled }) => count > 0 || settled > 0);
}

/**
 * How many minions of the place are missing at least. Each has one connection, or one to each
 * publisher: which of the two is not known, so both are looked at.
 */
export function missingAt(place: Place): number {
  const { at, present, total } = place;
  let missing = present - total;
  for (const { count, settled } of at) {
    if (count < settled) missing = Math.max(missing, Math.min(settled, present) - count);
  }
  return Math.max(0, missing);
}

/** How many connections came since all minions were accounted for. */
export function risenAt({ at }: Place): number {
  let risen = 0;
  for (const { count, settled } of at) risen = Math.max(risen, count - settled);
  return risen;
}
