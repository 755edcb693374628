import { type Bucket, type BucketEntry, splitKey } from '@brine/bus';
import { fromHotState } from '../hot-state.ts';

/**
 * The ids of minions with a record in a bucket. Reads the whole bucket once, in parts, and keeps
 * only the ids in memory.
 * @param what names the unreachable bucket in errors
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
