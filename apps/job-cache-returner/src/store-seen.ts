import type { StoredEvent } from '@brine/bus';
import type { LogInRow, SightingKind, SightingRow } from '@brine/job-cache';
import { boolOf, intOf, isMap, listOf, mapIn, textOf, unpackMap } from '@brine/wire';
import type { SaltMap } from '@brine/wire';
import { fetchBody } from './fetch-body.ts';
import type { StoreContext } from './store-context.ts';

/** What services may tell of minions; answers to find_job come as returns. */
const TOLD_KINDS: ReadonlySet<string> = new Set(['refused', 'expired', 'sent_again']);

/**
 * Stores log-ins and sightings, and acknowledges them after the commit. A sighting is an event of
 * its kind with a map `{jid, ids: [minion], kind, detail?: {}}`; its time is that of the stream.
 */
export async function storeSeen(
  events: readonly StoredEvent[],
  context: StoreContext,
): Promise<void> {
  const { cache, hold, log } = context;
  const logIns: LogInRow[] = [];
  const sightings: SightingRow[] = [];
  for (const event of events) {
    const body = await fetchBody(event, context);
    if (body === undefined) return giveBack(events);
    try {
      const told = unpackMap(body);
      if (event.kind === 'auth') logIns.push(...logInOf(told, event));
      else sightings.push(...sightingOf(told, event));
    } catch (error) {
      // Evidence that can not be read is no evidence; returns and jobs are not touched by it.
      log.warn({ err: error, tag: event.tag }, 'an event about minions could not be read');
    }
  }
  const stored = await hold.until(async () => {
    if (logIns.length > 0) await cache.saveLogIns(logIns);
    if (sightings.length > 0) await cache.saveSightings(sightings);
    return {};
  });
  if (stored === undefined) return giveBack(events);
  for (const event of events) event.ack();
}

function giveBack(events: readonly StoredEvent[]): void {
  for (const event of events) event.nak(0);
}

/** A log-in that was let in (libs/master `judgeAuth`); every other verdict starts no session. */
function logInOf(told: SaltMap, event: StoredEvent): LogInRow[] {
  const id = textOf(told, 'id');
  const isIn = textOf(told, 'act') === 'accept' && boolOf(told, 'result') === true;
  return isIn && id !== undefined ? [{ id, at: event.timeMs }] : [];
}

function sightingOf(told: SaltMap, event: StoredEvent): SightingRow[] {
  const jid = textOf(told, 'jid');
  const kind = textOf(told, 'kind');
  const ids = listOf(told, 'ids')?.filter((id) => typeof id === 'string');
  if (jid === undefined || ids === undefined || kind === undefined) return [];
  if (!TOLD_KINDS.has(kind)) return [];
  return [{ jid, ids, kind: kind as SightingKind, at: event.timeMs, detail: detailOf(told) }];
}

function detailOf(told: SaltMap): Record<string, string | number | boolean> {
  const detail: Record<string, string | number | boolean> = {};
  const given = mapIn(told, 'detail');
  for (const key of given?.keys() ?? []) {
    if (typeof key !== 'string' || given === undefined || isMap(given.get(key))) continue;
    const value = textOf(given, key) ?? intOf(given, key) ?? boolOf(given, key);
    if (value !== undefined) detail[key] = value;
  }
  return detail;
}
