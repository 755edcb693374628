import type { BucketEntry } from '@brine/bus';
import { NOT_SEALED, runIn } from '@brine/cluster-work';
import { placeIn } from '@brine/event-return';

/**
 * A returner whose process is gone for so long delays no trimming of the streams any more, in ms.
 * While a process has it the record is written each hour.
 */
const FORGOTTEN_AFTER_MS = 24 * 3_600_000;

/**
 * The positions from which on `event_return` still needs events, at a time (unix ms), out of its
 * bucket. It keeps its places itself, since a durable reader of NATS would get events out of their
 * order after a crash.
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
