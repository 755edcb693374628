import { BusError } from '@brine/bus';
import { MasterUnavailableError } from '@brine/master';

/** Names what is away when the hot state does not answer, so that the rules choose what is safe. */
export async function fromHotState<T>(what: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    throw new MasterUnavailableError(`${what} cannot be reached`, { cause });
  }
}

/** The revision that a compare-and-set wrote; undefined when another writer was first. */
export async function unlessConflict(
  what: string,
  written: Promise<number>,
): Promise<number | undefined> {
  try {
    return await written;
  } catch (cause) {
    if (cause instanceof BusError && cause.code === 'BUS_CONFLICT') return undefined;
    throw new MasterUnavailableError(`${what} cannot be reached`, { cause });
  }
}

/** One question at a time per key: overlapping callers get the same answer. */
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
