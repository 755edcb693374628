import { EXCHANGE_KINDS, type JobCache } from '@brine/job-cache';
import type { SaltMap, SaltValue } from '@brine/wire';
import { intOf, mapOf, textOf } from '@brine/wire';

/** `{jid, kind, after?}` → `{lines: [text], next}`: rows as lines of a file of `jobs.export`. */
export async function exportQuery(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  const jid = textOf(request, 'jid');
  const kind = EXCHANGE_KINDS.find((one) => one === textOf(request, 'kind'));
  if (jid === undefined || kind === undefined) throw new RangeError('export needs jid and kind');
  const page = await cache.exportRows(jid, kind, textOf(request, 'after'));
  return mapOf({ lines: [...page.lines], next: page.next ?? null });
}

/** Only one import at a time: it uses a connection of the writers, and returns come first. */
let importing = false;

/**
 * `{file, linesBefore?}` → `{jobs, returns, evidence, sightings, known}`: a part of a file of
 * `jobs.export` that is such a file by itself, all of it or nothing. `{busy: true}` during another
 * import.
 */
export async function importQuery(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  const file = textOf(request, 'file');
  if (file === undefined) throw new RangeError('import needs a file');
  if (importing) return mapOf({ busy: true });
  importing = true;
  try {
    return mapOf({ ...(await cache.importRows(file, intOf(request, 'linesBefore') ?? 0)) });
  } finally {
    importing = false;
  }
}
