import { type Bus, BusError } from '@brine/bus';
import { ask } from '@brine/bus/rpc';
import { type JobQueries, MasterUnavailableError } from '@brine/master';
import type { SaltMap, SaltValue } from '@brine/wire';

/** A longer query would outlast the timeout of the client that asked. */
const QUERY_TIMEOUT_MS = 4000;

/** Questions to the job cache, over NATS. */
export class JobCacheQueries implements JobQueries {
  readonly #bus: Bus;

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  async ask(query: string, args: SaltMap, timeoutMs = QUERY_TIMEOUT_MS): Promise<SaltValue> {
    try {
      return await ask(this.#bus, `jobs.${query}`, args, timeoutMs);
    } catch (cause) {
      if (!(cause instanceof BusError) || !cause.retryable) throw cause;
      throw new MasterUnavailableError(reasonOf(cause, timeoutMs), { cause });
    }
  }
}

function reasonOf({ code, message }: BusError, timeoutMs: number): string {
  if (code === 'BUS_QUERY_AWAY') return `PostgreSQL does not answer (${message})`;
  if (code === 'BUS_NO_ANSWER') return 'no job-cache-returner is there';
  return `no answer within ${timeoutMs / 1000} s from job-cache-returner and PostgreSQL`;
}
