import { BusError } from '../connection/errors.ts';
import type { BucketKey } from '../subjects/escape.ts';
import type { Bucket } from './bucket.ts';
import type { BucketEntry } from './bucket-watch.ts';

/** The result of a change. */
export interface ValueChange<T> {
  /** For the caller of {@link changeValue}, once the value is written. */
  readonly answer: T;
  /** Absent: nothing is written. */
  readonly value?: Uint8Array;
}

/** Each try that fails means that another writer succeeded; nothing contends so long. */
const TRIES = 30;

/**
 * Reads a value, changes it, and writes it if no other writer came between: compare-and-set,
 * retried until it succeeds.
 *
 * @param make may be called several times, each time with the current value
 * @throws BusError `BUS_BUSY` after 30 tries, and what {@link Bucket} throws
 */
export async function changeValue<T>(
  bucket: Pick<Bucket, 'get' | 'update'>,
  key: BucketKey,
  make: (entry: BucketEntry | undefined) => ValueChange<T> | Promise<ValueChange<T>>,
): Promise<T> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const entry = await bucket.get(key);
    const { answer, value } = await make(entry);
    if (value === undefined) return answer;
    const written = await bucket.update(key, value, entry?.revision ?? 0);
    if (written !== undefined) return answer;
  }
  throw new BusError('BUS_BUSY', `${key} was not changed: other writers were first ${TRIES} times`);
}
