import type { StoredEvent } from '@brine/bus';
import { isJid, isMinionId } from '@brine/job';
import { JobCacheError } from '@brine/job-cache';
import type {
  AuditStored,
  JobCache,
  JobRow,
  LogInRow,
  RefusedRow,
  SightingKind,
  SightingRow,
} from '@brine/job-cache';
import { boolOf, intOf, isMap, listOf, mapIn, textOf, unpackMap } from '@brine/wire';
import type { SaltMap } from '@brine/wire';
import { fetchBody } from './fetch-body.ts';
import { jobBelow } from './job-below.ts';
import type { StoreContext } from './store-context.ts';

/** What services may tell of minions; answers to find_job come as returns. */
const TOLD_KINDS: ReadonlySet<string> = new Set(['refused', 'expired', 'sent_again']);

/** An event about minions, and what is to be stored of it. */
interface Seen {
  readonly event: StoredEvent;
  readonly body: Uint8Array;
  readonly logIns: readonly LogInRow[];
  readonly sightings: readonly SightingRow[];
  readonly audited: readonly AuditStored[];
  /** What syndics tell of jobs below them. */
  readonly jobs: readonly JobRow[];
  /** Why not all of it can be. */
  readonly unfit?: unknown;
}

/**
 * Stores log-ins, sightings and rows on record, and acknowledges them after the commit. A
 * sighting is an event of its kind with a map `{jid, ids: [minion], kind, detail?: {}}`; its time
 * is that of the stream. What is no evidence, or what PostgreSQL refuses, goes to quarantine and
 * holds up nothing.
 */
export async function storeSeen(
  events: readonly StoredEvent[],
  context: StoreContext,
): Promise<void> {
  const { cache, hold, counts } = context;
  const read: Seen[] = [];
  for (const event of events) {
    const body = await fetchBody(event, context);
    if (body === undefined) return giveBack(events);
    read.push(seenIn(event, body));
  }
  const refused = await hold.until(() => storeAll(cache, read));
  if (refused === undefined) return giveBack(events);
  counts.addRefused('seen', refused);
  for (const event of events) event.ack();
}

function giveBack(events: readonly StoredEvent[]): void {
  for (const event of events) event.nak(0);
}

/** All of them at once, or one by one where that is refused; returns what was put away. */
async function storeAll(cache: JobCache, read: readonly Seen[]): Promise<readonly RefusedRow[]> {
  const bad = new Map(read.flatMap((one) => ('unfit' in one ? [[one, one.unfit] as const] : [])));
  const refused: RefusedRow[] = [];
  try {
    refused.push(...(await storeRows(cache, read)));
  } catch (error) {
    if (!isRefused(error)) throw error;
    for (const one of read) {
      try {
        refused.push(...(await storeRows(cache, [one])));
      } catch (alone) {
        if (!isRefused(alone)) throw alone;
        bad.set(one, alone);
      }
    }
  }
  for (const [{ event, body }, error] of bad) {
    const { jid = '', minion: id = '', incarnation, seq } = event;
    const refusal = { kind: 'seen', jid, id, incarnation, seq, raw: body } as const;
    refused.push(await cache.quarantine(refusal, error));
  }
  return refused;
}

/** Returns the jobs that were put away as they came. */
async function storeRows(cache: JobCache, read: readonly Seen[]): Promise<readonly RefusedRow[]> {
  const logIns = read.flatMap((one) => one.logIns);
  const sightings = read.flatMap((one) => one.sightings);
  const jobs = read.flatMap((one) => one.jobs);
  const { refused } = jobs.length > 0 ? await cache.saveJobs(jobs) : { refused: [] };
  if (logIns.length > 0) await cache.saveLogIns(logIns);
  if (sightings.length > 0) await cache.saveSightings(sightings);
  const audited = read.flatMap((one) => one.audited);
  if (audited.length > 0) await cache.audit.save(audited);
  return refused;
}

function isRefused(error: unknown): boolean {
  return error instanceof JobCacheError && error.code === 'SALT_JOBCACHE_REFUSED';
}

function seenIn(event: StoredEvent, body: Uint8Array): Seen {
  const seen = { event, body, logIns: [], sightings: [], audited: [], jobs: [] };
  try {
    if (event.kind === 'audit') return { ...seen, audited: auditRowsOf(body) };
    const told = unpackMap(body);
    if (textOf(told, 'kind') === 'below') return { ...seen, ...belowOf(told, event) };
    return { ...seen, ...(event.kind === 'auth' ? logInOf(told, event) : sightingOf(told, event)) };
  } catch (unfit) {
    return { ...seen, unfit };
  }
}

/** A log-in that was let in (libs/master `judgeAuth`); every other verdict starts no session. */
function logInOf(told: SaltMap, event: StoredEvent): Partial<Seen> {
  const id = textOf(told, 'id');
  const isIn = textOf(told, 'act') === 'accept' && boolOf(told, 'result') === true;
  if (!isIn) return {};
  if (!isMinionId(id)) throw new Error('a log-in without the id of a minion');
  return { logIns: [{ id, at: event.timeMs }] };
}

/** The job as it is below, and that this syndic has told of it. */
function belowOf(told: SaltMap, event: StoredEvent): Partial<Seen> {
  const job = jobBelow(told, event);
  const { jid, syndic, minions } = job;
  const detail = { minions: minions.length };
  return {
    jobs: [job],
    sightings: [{ jid, ids: [syndic], kind: 'below', at: event.timeMs, detail }],
  };
}

function sightingOf(told: SaltMap, event: StoredEvent): Partial<Seen> {
  const jid = textOf(told, 'jid');
  const kind = textOf(told, 'kind');
  const given = listOf(told, 'ids');
  if (!isJid(jid)) throw new Error('a sighting without a jid');
  if (kind === undefined || !TOLD_KINDS.has(kind)) throw new Error('a sighting of no known kind');
  if (given === undefined) throw new Error('a sighting without minions');
  const ids = given.filter((id) => id === '' || isMinionId(id));
  const at = event.timeMs;
  return {
    sightings: [{ jid, ids, kind: kind as SightingKind, at, detail: detailOf(told) }],
    ...(ids.length < given.length ? { unfit: new Error('a sighting of what is no minion') } : {}),
  };
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

/** Rows as `AuditWriter` of libs/bus packs them; what is no row of its is left out. */
function auditRowsOf(body: Uint8Array): AuditStored[] {
  const rows: unknown = JSON.parse(Buffer.from(body).toString('utf8'));
  if (!Array.isArray(rows)) return [];
  return rows.flatMap((row: Partial<Record<keyof AuditStored, unknown>> | null) => {
    const { writer, n, body: told, before, seal } = row ?? {};
    const isRow =
      typeof writer === 'string' &&
      Number.isSafeInteger(n) &&
      [told, before, seal].every((text) => typeof text === 'string');
    return isRow ? [row as AuditStored] : [];
  });
}
