import type { JobCache, SilentMinion } from '@brine/job-cache';
import type { SaltMap, SaltValue } from '@brine/wire';
import { intOf, listOf, mapOf, textOf } from '@brine/wire';

/** The incarnation of rows from Salt's pgjsonb returner (sql/000001.sql). */
const BY_PGJSONB = '~pgjsonb';

/**
 * `{jid, ids?, after?, limit?}` → `{load, publishedMs, deadlineMs, minions: […], next}`: the
 * evidence about the silent minions of a job, or about `ids`. Null for an unknown jid.
 * `incarnation` is that of the stream of events which is read here.
 */
export async function silentQuery(
  cache: JobCache,
  jid: string,
  request: SaltMap,
  incarnation: string | undefined,
): Promise<SaltValue> {
  const after = textOf(request, 'after');
  const ids = listOf(request, 'ids')?.filter((id) => typeof id === 'string');
  const limit = intOf(request, 'limit');
  const page = await cache.silentMinions(jid, {
    ...(ids === undefined ? {} : { ids }),
    ...(after === undefined ? {} : { after }),
    ...(limit === undefined ? {} : { limit }),
  });
  if (page === undefined) return null;
  return mapOf({
    load: page.load,
    publishedMs: page.publishedMs,
    deadlineMs: page.deadlineMs,
    minions: page.minions.map((minion) => minionMap(minion, incarnation)),
    next: page.next ?? null,
  });
}

function minionMap(minion: SilentMinion, incarnation: string | undefined): SaltMap {
  const { sightings, logInsMs, incarnation: from, ...rest } = minion;
  return mapOf({
    ...rest,
    elsewhere: elsewhere(from, minion.returnedMs, incarnation),
    logInsMs: [...logInsMs],
    sightings: new Map<SaltValue, SaltValue>(
      [...sightings].map(([kind, seen]) => [kind, mapOf({ ...seen })]),
    ),
  });
}

/** The way that a return came, if not through the events that this process reads. */
function elsewhere(
  from: string | undefined,
  returnedMs: number | undefined,
  here: string | undefined,
): string | undefined {
  if (from === undefined || returnedMs === undefined) return undefined;
  if (from === BY_PGJSONB)
    return 'the database itself, by the pgjsonb returner of a minion or of another master';
  if (here === undefined || from === here) return undefined;
  // Older than the present stream: an earlier stream of this master may have brought it.
  return returnedMs > Date.parse(here) ? 'another master of the same database' : undefined;
}
