import { EXCHANGE_KINDS, type JobCache } from '@brine/job-cache';
import { mapOf, textOf } from '@brine/wire';
import type { SaltMap, SaltValue } from '@brine/wire';

/** `{jid, kind, after?}` → `{lines: [text], next}`: rows as lines of a file of `jobs.export`. */
export async function exportQuery(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  const jid = textOf(request, 'jid');
  const kind = EXCHANGE_KINDS.find((one) => one === textOf(request, 'kind'));
  if (jid === undefined || kind === undefined) throw new RangeError('export needs jid and kind');
  const page = await cache.exportRows(jid, kind, textOf(request, 'after'));
  return mapOf({ lines: [...page.lines], next: page.next ?? null });
}
