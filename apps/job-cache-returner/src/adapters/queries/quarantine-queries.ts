import type { Bus } from '@brine/bus';
import type { JobCache, QuarantineFilter, QuarantineRow } from '@brine/job-cache';
import { retryQuarantined } from '@brine/storing';
import type { SaltMap, SaltValue } from '@brine/wire';
import { boolOf, intOf, listOf, mapOf, textOf } from '@brine/wire';

interface Context {
  readonly bus: Bus;
  readonly returnEvent: (row: QuarantineRow) => Promise<boolean>;
}

type Query = (cache: JobCache, request: SaltMap, context: Context) => Promise<SaltValue>;

/** Limit of one retry of rows, in ms; the caller then asks for the next ones. */
const RETRY_MS = 1_500;
const LIST_DEFAULT = 50;

/** The queries about quarantine: `quarantine`, `quarantine_retry`, `quarantine_drop`. */
export const QUARANTINE_QUERIES: readonly (readonly [string, Query])[] = [
  ['quarantine', list],
  ['quarantine_retry', retry],
  ['quarantine_drop', drop],
];

async function list(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  const limit = intOf(request, 'limit') ?? LIST_DEFAULT;
  const { total, rows } = await cache.quarantined.list(filterOf(request), limit);
  return mapOf({ total, rows: rows.map((row) => mapOf({ ...row })) });
}

async function retry(
  cache: JobCache,
  request: SaltMap,
  { bus, returnEvent }: Context,
): Promise<SaltValue> {
  const filter = chosen(request);
  const untilMs = performance.now() + RETRY_MS;
  const counts = { stored: 0, refused: 0 };
  let after = intOf(request, 'after') ?? 0;
  while (performance.now() < untilMs) {
    const row = await cache.quarantined.next(filter, after);
    if (row === undefined) return mapOf({ ...counts, next: null });
    after = row.number;
    const isStored = await retryQuarantined(row, { cache, bus, returnEvent });
    counts[isStored ? 'stored' : 'refused'] += 1;
  }
  return mapOf({ ...counts, next: after });
}

async function drop(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  return mapOf({ dropped: await cache.quarantined.drop(chosen(request)) });
}

/** A filter that was omitted by mistake must not mean all rows. */
function chosen(request: SaltMap): QuarantineFilter {
  const filter = filterOf(request);
  if (boolOf(request, 'all') === true || Object.keys(filter).length > 0) return filter;
  throw new RangeError('say which rows: numbers, kind, jid, id or state, or all');
}

function filterOf(request: SaltMap): QuarantineFilter {
  const text = (name: 'kind' | 'jid' | 'id' | 'state'): Partial<QuarantineFilter> => {
    const value = textOf(request, name);
    return value === undefined ? {} : { [name]: value };
  };
  const numbers = listOf(request, 'numbers');
  if (numbers?.some((one) => !Number.isSafeInteger(one)) === true) {
    throw new RangeError('rows in quarantine have whole numbers');
  }
  return {
    ...(numbers === undefined ? {} : { numbers: numbers.map(Number) }),
    ...text('kind'),
    ...text('jid'),
    ...text('id'),
    ...text('state'),
  };
}
