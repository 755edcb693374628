import { type Bucket, type BucketEntry, splitKey } from '@brine/bus';
import { fromHotState } from '../hot-state.ts';

/**
 * The minions that have a record of their own in a bucket. Reads the whole bucket once, a part at a
 * time; nothing of it stays in memory but the ids.
 * @param what stands in the error where the bucket cannot be reached
 * @throws MasterUnavailableError
 */
export function idsIn(
  bucket: Bucket,
  what: string,
  isKept: (entry: BucketEntry) => boolean,
): Promise<string[]> {
  const read = async (): Promise<string[]> => {
    const ids = new Set<string>();
    for await (const entry of bucket.entries()) {
      const [id = '', more] = splitKey(entry.key);
      if (more !== undefined) continue;
      if (isKept(entry)) ids.add(id);
      else ids.delete(id);
    }
    return [...ids];
  };
  return fromHotState(what, read());
}
