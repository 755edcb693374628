import type { Bus } from '@brine/bus';
import type { BucketName } from '@brine/bus';
import { Bucket } from '@brine/bus';
import { escapeKey } from '@brine/bus';
import { NO_MINE } from './mines.ts';

/** A bucket has no deletions, so that no stale copy can restore a deleted record. */
const GONE = Buffer.alloc(0);

/**
 * Drops the session key of a minion whose key is no longer accepted. With `data`, also drops the
 * data that the minion sent about itself. Several processes may do it, also for a minion that has
 * neither.
 * @throws BusError as {@link Bucket.put}.
 */
export async function forgetMinion(
  bus: Bus,
  id: string,
  what: { readonly data: boolean },
): Promise<void> {
  const empty = async (
    name: BucketName,
    key = escapeKey(id),
    gone: Uint8Array = GONE,
  ): Promise<void> => {
    const bucket = new Bucket(bus, name);
    const entry = await bucket.get(key);
    if (entry === undefined || Buffer.compare(entry.value, gone) === 0) return;
    await bucket.put(key, gone);
  };
  await empty('brine_sessions');
  if (!what.data) return;
  await empty('brine_minions');
  await empty('brine_mine', escapeKey(id), NO_MINE);
  await empty('brine_secrets', escapeKey('syndic', id));
  await empty('brine_pillars');
}
