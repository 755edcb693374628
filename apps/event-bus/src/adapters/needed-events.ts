import type { BucketEntry } from '@brine/bus';
import { NOT_SEALED, runIn } from '@brine/cluster-work';
import { placeIn } from '@brine/event-return';

/**
 * A returner without a process stops delaying the trimming of the streams after this, in ms. A
 * running process writes the record each hour.
 */
const FORGOTTEN_AFTER_MS = 24 * 3_600_000;

/**
 * The positions from which `event_return` still needs events, at a time (unix ms), from its bucket.
 * It keeps its places itself, since a durable reader of NATS would reorder events after a crash.
 */
export async function neededEvents(
  entries: AsyncIterable<BucketEntry> | Iterable<BucketEntry>,
  nowMs: number,
): Promise<readonly string[]> {
  const needed: string[] = [];
  for await (const entry of entries) {
    if (nowMs - entry.timeMs > FORGOTTEN_AFTER_MS) continue;
    const run = runIn(entry, NOT_SEALED);
    if (run === undefined) continue;
    const { position } = placeIn(run.data);
    if (position !== undefined) needed.push(position);
  }
  return needed;
}
