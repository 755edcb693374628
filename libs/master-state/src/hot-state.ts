import type { Bucket } from '@brine/bus';
import { MasterUnavailableError } from '@brine/master';

/**
 * Names the unreachable part when the hot state does not answer, so that callers can react safely.
 */
export async function fromHotState<T>(what: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    throw new MasterUnavailableError(`${what} cannot be reached`, { cause });
  }
}

/** The operations of a bucket, with the errors of {@link fromHotState}. */
export function reachableBucket(
  what: string,
  bucket: Pick<Bucket, 'get' | 'put' | 'create' | 'update'>,
): Pick<Bucket, 'get' | 'put' | 'create' | 'update'> {
  return {
    get: (key) => fromHotState(what, bucket.get(key)),
    put: (...write) => fromHotState(what, bucket.put(...write)),
    create: (...write) => fromHotState(what, bucket.create(...write)),
    update: (...write) => fromHotState(what, bucket.update(...write)),
  };
}

/** One question at a time per key: concurrent callers share its answer. */
export class SingleFlight<T> {
  readonly #flights = new Map<string, Promise<T>>();

  run(key: string, start: () => Promise<T>): Promise<T> {
    const flying = this.#flights.get(key);
    if (flying !== undefined) return flying;
    const flight = start().finally(() => this.#flights.delete(key));
    this.#flights.set(key, flight);
    return flight;
  }
}
