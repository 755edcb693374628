import type { EventKind } from '@brine/job';
import { mapOf, type SaltMap, unpackMap, WireError } from '@brine/wire';
import { eventStamp } from '@brine/wire/frames';

/**
 * The data of an event as Salt's readers get it, with `_stamp`: the time at which the stream stored
 * it. Tools of a host stamp their events (kind `local`) themselves; of other kinds a stamp that
 * came along is a minion's. A body that is no map becomes an empty one.
 * @param timeMs ms since 1970
 */
export function eventData(body: Uint8Array, timeMs: number, kind: EventKind = 'local'): SaltMap {
  let data: SaltMap;
  try {
    data = unpackMap(body);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    data = mapOf({});
  }
  if (kind !== 'local' || !data.has('_stamp')) data.set('_stamp', eventStamp(timeMs, true));
  return data;
}
