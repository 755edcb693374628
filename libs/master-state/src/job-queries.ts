import { type Bus, BusError } from '@brine/bus';
import { ask } from '@brine/bus/rpc';
import { type JobQueries, MasterUnavailableError } from '@brine/master';
import type { SaltMap, SaltValue } from '@brine/wire';

/** A longer query would exceed the timeout of its client. */
const QUERY_TIMEOUT_MS = 4000;
/**
 * A page of returns has up to 50 MB. A busy host takes many seconds to read it, pack it and send it
 * through NATS. After a short timeout it would be read in vain, at each try. A runner waits as
 * long; gateways answer other clients after 28 s.
 */
const PAGE_TIMEOUT_MS = 60_000;
const PAGES: ReadonlySet<string> = new Set(['get_jid', 'export', 'import']);

/** Questions to the job cache, over NATS. */
export class JobCacheQueries implements JobQueries {
  readonly #bus: Bus;

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  async ask(query: string, args: SaltMap, timeoutMs = timeoutOf(query)): Promise<SaltValue> {
    try {
      return await ask(this.#bus, `jobs.${query}`, args, timeoutMs);
    } catch (cause) {
      if (!(cause instanceof BusError) || !cause.retryable) throw cause;
      throw new MasterUnavailableError(reasonOf(cause, timeoutMs), { cause });
    }
  }
}

function timeoutOf(query: string): number {
  return PAGES.has(query) ? PAGE_TIMEOUT_MS : QUERY_TIMEOUT_MS;
}

function reasonOf({ code, message }: BusError, timeoutMs: number): string {
  if (code === 'BUS_QUERY_AWAY') return `PostgreSQL does not answer (${message})`;
  if (code === 'BUS_NO_ANSWER') return 'no job-cache-returner is there';
  return `no answer within ${timeoutMs / 1000} s from job-cache-returner and PostgreSQL`;
}
