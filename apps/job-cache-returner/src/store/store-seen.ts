import type { EventKind } from '@brine/bus';
import { EVENT_KINDS } from '@brine/bus';
import type { StoredEvent } from '@brine/bus/events';
import type { AuditRow } from '@brine/job';
import { isJid, isMinionId } from '@brine/job';
import type {
  JobCache,
  JobRow,
  LogInRow,
  Quarantined,
  Refusal,
  RefusedRow,
  SightingKind,
  SightingRow,
  Unfit,
} from '@brine/job-cache';
import type { SaltMap } from '@brine/wire';
import { boolOf, intOf, isMap, listOf, mapIn, textOf, unpackMap } from '@brine/wire';
import type { StoreContext } from '../adapters/store-context.ts';
import { fetchBody } from './fetch-body.ts';
import { jobBelow } from './job-below.ts';

/** What services may tell of minions; answers to find_job come as returns. */
const TOLD_KINDS: ReadonlySet<string> = new Set(['refused', 'expired', 'sent_again']);

/** Of an event what is needed here: it may come out of quarantine. */
type SeenEvent = Pick<
  StoredEvent,
  'kind' | 'tag' | 'jid' | 'minion' | 'timeMs' | 'incarnation' | 'seq' | 'subject'
>;

/** An event about minions, and what is to be stored of it. */
export interface Seen {
  readonly event: SeenEvent;
  readonly body: Uint8Array;
  /** Log-ins, sightings and rows on record. */
  readonly rows: ReadonlySet<object>;
  readonly logIns: readonly LogInRow[];
  readonly sightings: readonly SightingRow[];
  readonly audited: readonly AuditRow[];
  /** What syndics tell of jobs below them. */
  readonly jobs: readonly JobRow[];
  /** Why not all of it can be. */
  readonly unfit?: unknown;
}

type Told = Partial<Omit<Seen, 'event' | 'body' | 'rows'>>;

const OPENING_BRACKET = 0x5b;

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
  const taken: StoredEvent[] = [];
  for (const event of events) {
    const body = await fetchBody(event, context);
    if (body === undefined) continue;
    read.push(seenIn(event, body));
    taken.push(event);
  }
  const refused = await hold.until(() => storeAll(cache, read));
  if (refused === undefined) {
    for (const event of taken) event.nak(0);
    return;
  }
  counts.addRefused('seen', refused);
  for (const event of taken) event.ack();
}

/** Stores all of it that can be; what can not is put away with its event, which is returned. */
export async function storeAll(
  cache: JobCache,
  read: readonly Seen[],
): Promise<readonly RefusedRow[]> {
  const bad = new Map(read.flatMap((one) => ('unfit' in one ? [[one, one.unfit] as const] : [])));
  const jobs = read.flatMap((one) => one.jobs);
  const refused = jobs.length > 0 ? [...(await cache.saveJobs(jobs)).refused] : [];
  for (const { row, error } of await storeRows(cache, read)) {
    const one = read.find(({ rows }) => rows.has(row));
    if (one !== undefined && !bad.has(one)) bad.set(one, error);
  }
  for (const [{ event, body }, error] of bad) {
    refused.push(await cache.quarantine(refusalOf(event, body), error));
  }
  return refused;
}

async function storeRows(
  cache: JobCache,
  read: readonly Seen[],
): Promise<readonly Unfit<object>[]> {
  const logIns = read.flatMap((one) => one.logIns);
  const sightings = read.flatMap((one) => one.sightings);
  const audited = read.flatMap((one) => one.audited);
  return [
    ...(logIns.length > 0 ? await cache.saveLogIns(logIns) : []),
    ...(sightings.length > 0 ? await cache.saveSightings(sightings) : []),
    ...(audited.length > 0 ? await cache.audit.save(audited) : []),
  ];
}

function refusalOf(event: SeenEvent, body: Uint8Array): Refusal {
  const { jid = '', minion: id = '', incarnation, seq, subject, kind, tag, timeMs } = event;
  const told = { event: kind, tag };
  const position = { incarnation, seq, subject };
  return { kind: 'seen', jid, id, ...position, raw: body, receivedAt: timeMs, told };
}

/** What was put away as an event about minions, as if it had come again. */
export function seenInQuarantine(row: Quarantined): Seen {
  const { told, raw, jid, id, subject, storedMs, atMs, seq, incarnation } = row;
  const { event: kind, tag, receivedAt } = told;
  return seenIn(
    {
      kind: EVENT_KINDS.find((one) => one === kind) ?? kindOf(raw),
      tag: typeof tag === 'string' ? tag : '',
      ...{ jid, minion: id, subject, seq },
      incarnation: typeof told['incarnation'] === 'string' ? told['incarnation'] : incarnation,
      timeMs: typeof receivedAt === 'number' ? receivedAt : (storedMs ?? atMs),
    },
    raw,
  );
}

/** Releases before this one did not keep it: rows on record are JSON, log-ins name their act. */
function kindOf(raw: Uint8Array): EventKind {
  if (raw[0] === OPENING_BRACKET) return 'audit';
  return Buffer.from(raw).includes('act') ? 'auth' : 'sighting';
}

/** Reads an event about minions; one that tells of none is `unfit`. */
export function seenIn(event: SeenEvent, body: Uint8Array): Seen {
  const nothing = { logIns: [], sightings: [], audited: [], jobs: [] };
  let told: Told;
  try {
    told = toldIn(event, body);
  } catch (unfit) {
    told = { unfit };
  }
  const { logIns = [], sightings = [], audited = [] } = told;
  return { event, body, ...nothing, ...told, rows: new Set([...logIns, ...sightings, ...audited]) };
}

function toldIn(event: SeenEvent, body: Uint8Array): Told {
  if (event.kind === 'audit') return auditRowsOf(body);
  const told = unpackMap(body);
  if (textOf(told, 'kind') === 'below') return belowOf(told, event);
  return event.kind === 'auth' ? logInOf(told, event) : sightingOf(told, event);
}

/** A log-in that was let in (libs/master `judgeAuth`); every other verdict starts no session. */
function logInOf(told: SaltMap, event: SeenEvent): Told {
  const id = textOf(told, 'id');
  const isIn = textOf(told, 'act') === 'accept' && boolOf(told, 'result') === true;
  if (!isIn) return {};
  if (!isMinionId(id)) throw new Error('a log-in without the id of a minion');
  return { logIns: [{ id, at: event.timeMs }] };
}

/** The job as it is below, and that this syndic has told of it. */
function belowOf(told: SaltMap, event: SeenEvent): Told {
  const job = jobBelow(told, event);
  const { jid, syndic, minions } = job;
  const detail = { minions: minions.length };
  return {
    jobs: [job],
    sightings: [{ jid, ids: [syndic], kind: 'below', at: event.timeMs, detail }],
  };
}

function sightingOf(told: SaltMap, event: SeenEvent): Told {
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

/** Rows as `AuditWriter` of libs/bus packs them. */
function auditRowsOf(body: Uint8Array): Told {
  const rows: unknown = JSON.parse(Buffer.from(body).toString('utf8'));
  if (!Array.isArray(rows)) throw new Error('no rows on record');
  const audited = rows.filter(isAuditRow);
  if (audited.length === rows.length) return { audited };
  return { audited, unfit: new Error('a row on record of another form') };
}

function isAuditRow(row: Partial<Record<keyof AuditRow, unknown>> | null): row is AuditRow {
  const { writer, n, body, before, seal } = row ?? {};
  return (
    Number.isSafeInteger(n) && [writer, body, before, seal].every((one) => typeof one === 'string')
  );
}
