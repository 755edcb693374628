import { type MapScan, scanMap, WireError } from '@brine/wire';

/** A larger return of a test is not read, bytes; nor one of more states. */
const READ_MAX = 1024 * 1024;
const STATES_MAX = 10_000;
/** None, as msgpack has it. */
const NIL = 0xc0;

/** How many states of a run with `test=True` would change; undefined for what is no such run. */
export function wouldChange(packed: Uint8Array | undefined): number | undefined {
  if (packed === undefined || packed.length > READ_MAX) return undefined;
  try {
    const states = scanMap(packed);
    if (states.entries.length > STATES_MAX) return undefined;
    return states.entries.filter((entry) => isOpen(states, entry)).length;
  } catch (error) {
    // A list of errors, or a state that is no map.
    if (error instanceof WireError) return undefined;
    throw error;
  }
}

/** Of a state that would change the result is None (Salt: salt/state.py). */
function isOpen({ bytesIn }: MapScan, entry: MapScan['entries'][number]): boolean {
  const result = scanMap(bytesIn.subarray(entry.valueStart, entry.valueEnd)).raw('result');
  return result?.length === 1 && result[0] === NIL;
}
