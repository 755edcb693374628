import { type Bus, BusError, readStray } from '@brine/bus';
import type { EventMessage } from '@brine/bus/events';
import type { Published } from '@brine/bus/jobs';
import {
  isRefused,
  type JobCache,
  type QuarantineRow,
  refusedDurable,
  refusedJob,
  refusedReturn,
  type RefusedRow,
} from '@brine/job-cache';
import { isRetryable } from '@brine/tasks';
import { durableRow, jobRow } from './take-jobs.ts';
import { noticeIn, noticeInQuarantine, storeAll } from './take-notices.ts';
import { returnRow } from './take-returns.ts';

/** The targets of a retry. */
export interface RetryParts {
  readonly cache: JobCache;
  readonly bus: Bus;
  /** Passes an event to its returner again; false if this master does not have it. */
  readonly returnEvent: (row: QuarantineRow) => Promise<boolean>;
}

/**
 * Tries a row in quarantine again, as if it had just come, and removes it once it is stored. A row
 * that is refused again stays, with the new reason. Returns whether it is stored. Throws for
 * outages.
 */
export async function retryQuarantined(row: QuarantineRow, parts: RetryParts): Promise<boolean> {
  const isStored = await store(row, parts);
  await parts.cache.quarantined.tried(row.number, isStored);
  return isStored;
}

async function store(row: QuarantineRow, parts: RetryParts): Promise<boolean> {
  try {
    const refused = await storeAgain(row, parts);
    // A stray that can be read now, but is refused, goes to quarantine under its real kind.
    return refused !== undefined && !refused.some(({ kind }) => kind === row.kind);
  } catch (error) {
    if (isAway(error)) throw error;
    return false;
  }
}

/** True for an outage. Every other error is the row's own fault. */
function isAway(error: unknown): boolean {
  if (isRefused(error)) return false;
  return isRetryable(error);
}

/** Returns the rows that are still refused; undefined for a row that can not be read. */
async function storeAgain(
  row: QuarantineRow,
  { cache, bus, returnEvent }: RetryParts,
): Promise<readonly RefusedRow[] | undefined> {
  switch (row.kind) {
    case 'job':
      return (await cache.saveJobs([refusedJob(row)])).refused;
    case 'durable':
      return cache.durable.open([refusedDurable(row)]);
    case 'return':
      return (await cache.saveReturns([refusedReturn(row)])).refused;
    case 'seen':
      return storeAll(cache, [noticeInQuarantine(row)]);
    case 'stray':
      return storeStray(row, { cache, bus });
    case 'event':
      return (await returnEvent(row)) ? [] : undefined;
  }
}

async function storeStray(
  { about: facts, subject, raw, seq, incarnation }: QuarantineRow,
  { cache, bus }: Pick<RetryParts, 'cache' | 'bus'>,
): Promise<readonly RefusedRow[] | undefined> {
  const { stream, headers, timeUs } = facts;
  if (typeof stream !== 'string' || typeof headers !== 'string') return undefined;
  const at = typeof timeUs === 'number' ? timeUs : 0;
  const position = typeof facts['incarnation'] === 'string' ? facts['incarnation'] : incarnation;
  const message = { stream, subject, headers, data: raw, seq, incarnation: position, timeUs: at };
  const read = await readStray(bus, message);
  if (read === undefined) return undefined;
  if ('kind' in read) return storePublished(read, cache);
  const refused: RefusedRow[] = [];
  for (const event of read) refused.push(...(await storeEvent(event, cache)));
  return refused;
}

async function storeEvent(event: EventMessage, cache: JobCache): Promise<readonly RefusedRow[]> {
  const body = await event.fetch();
  if (event.kind !== 'ret' && event.kind !== 'run') return storeAll(cache, [noticeIn(event, body)]);
  return (await cache.saveReturns([returnRow(event, body)])).refused;
}

async function storePublished(
  published: Published,
  cache: JobCache,
): Promise<readonly RefusedRow[]> {
  if (published.kind !== 'job') throw new BusError('BUS_BAD_MESSAGE', 'a publication of no job');
  const { refused } = await cache.saveJobs([jobRow(published)]);
  if (published.job.durable !== true) return refused;
  return [...refused, ...(await cache.durable.open([durableRow(published)]))];
}
