import { ask, type Bus } from '@brine/bus';
import type { JobQueries } from '@brine/master';
import type { SaltMap, SaltValue } from '@brine/wire';

/** A query that takes longer than this would outlive the patience of whoever asked. */
const QUERY_TIMEOUT_MS = 4000;

/** Questions to the job cache, over NATS. */
export class JobCacheQueries implements JobQueries {
  readonly #bus: Bus;

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  ask(query: string, args: SaltMap): Promise<SaltValue> {
    return ask(this.#bus, `jobs.${query}`, args, QUERY_TIMEOUT_MS);
  }
}
