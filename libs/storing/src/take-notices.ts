import type { EventMessage } from '@brine/bus/events';
import type { AuditRow, EventKind, EventPosition, StreamEvent } from '@brine/job';
import { EVENT_KINDS, isJid, isMinionId } from '@brine/job';
import type {
  JobCache,
  JobRow,
  LogInRow,
  QuarantineRow,
  Refusal,
  RefusedRow,
  SightingKind,
  SightingRow,
  Unfit,
} from '@brine/job-cache';
import type { SaltMap } from '@brine/wire';
import { boolOf, intOf, isMap, listOf, mapIn, textOf, unpackMap } from '@brine/wire';
import type { StoreContext } from './store-context.ts';
import { fetchBody } from './store-context.ts';
import { syndicJob } from './syndic-job.ts';

/** Sightings that services report; answers to find_job come as returns. */
const SIGHTING_KINDS: ReadonlySet<string> = new Set(['refused', 'expired', 'sent_again']);

/** The event of a notice without its body: it may come out of quarantine. */
type NoticeEvent = EventPosition & Pick<StreamEvent, 'kind' | 'tag' | 'jid' | 'minion'>;

/**
 * A service's notice about minions, and its rows: a log-in, a sighting, acts on record, or the
 * minions that a syndic expects to return.
 */
export interface Notice {
  readonly event: NoticeEvent;
  readonly body: Uint8Array;
  /** Log-ins, sightings and rows on record. */
  readonly rows: ReadonlySet<object>;
  readonly logIns: readonly LogInRow[];
  readonly sightings: readonly SightingRow[];
  readonly audited: readonly AuditRow[];
  /** Jobs below a syndic. */
  readonly jobs: readonly JobRow[];
  /** The error if some rows can not be stored. */
  readonly unfit?: unknown;
}

type NoticeRows = Partial<Omit<Notice, 'event' | 'body' | 'rows'>>;

const OPENING_BRACKET = 0x5b;

/**
 * Stores log-ins, sightings and rows on record, and acknowledges them after the commit. A sighting
 * is an event of its kind with a map `{jid, ids: [minion], kind, detail?: {}}`; its time is that of
 * the stream. A notice that can not be read, or that PostgreSQL refuses, goes to quarantine, and
 * the others are stored.
 */
export async function storeNotices(
  events: readonly EventMessage[],
  context: StoreContext,
): Promise<void> {
  const { cache, backoff, counts } = context;
  const notices: Notice[] = [];
  const read: EventMessage[] = [];
  for (const event of events) {
    const body = await fetchBody(event, context);
    if (body === undefined) continue;
    notices.push(noticeIn(event, body));
    read.push(event);
  }
  const refused = await backoff.retry(() => storeAll(cache, notices));
  if (refused === undefined) {
    for (const event of read) event.nak(0);
    return;
  }
  counts.addRefused('seen', refused);
  for (const event of read) event.ack();
}

/** Stores the valid rows. The others go into quarantine with their events, and are returned. */
export async function storeAll(
  cache: JobCache,
  notices: readonly Notice[],
): Promise<readonly RefusedRow[]> {
  const bad = new Map(
    notices.flatMap((one) => ('unfit' in one ? [[one, one.unfit] as const] : [])),
  );
  const jobs = notices.flatMap((one) => one.jobs);
  const refused = jobs.length > 0 ? [...(await cache.saveJobs(jobs)).refused] : [];
  for (const { row, error } of await storeRows(cache, notices)) {
    const one = notices.find(({ rows }) => rows.has(row));
    if (one !== undefined && !bad.has(one)) bad.set(one, error);
  }
  for (const [{ event, body }, error] of bad) {
    refused.push(await cache.quarantine(refusalOf(event, body), error));
  }
  return refused;
}

async function storeRows(
  cache: JobCache,
  notices: readonly Notice[],
): Promise<readonly Unfit<object>[]> {
  const logIns = notices.flatMap((one) => one.logIns);
  const sightings = notices.flatMap((one) => one.sightings);
  const audited = notices.flatMap((one) => one.audited);
  return [
    ...(logIns.length > 0 ? await cache.saveLogIns(logIns) : []),
    ...(sightings.length > 0 ? await cache.saveSightings(sightings) : []),
    ...(audited.length > 0 ? await cache.audit.save(audited) : []),
  ];
}

function refusalOf(event: NoticeEvent, body: Uint8Array): Refusal {
  const { jid = '', minion: id = '', incarnation, seq, subject, kind, tag, timeMs } = event;
  const notice = { event: kind, tag };
  const position = { incarnation, seq, subject };
  return { kind: 'seen', jid, id, ...position, raw: body, receivedAt: timeMs, about: notice };
}

/** A notice that was put into quarantine, as if it had come again. */
export function noticeInQuarantine(row: QuarantineRow): Notice {
  const { about: notice, raw, jid, id, subject, storedMs, atMs, seq, incarnation } = row;
  const { event: kind, tag, receivedAt } = notice;
  return noticeIn(
    {
      kind: EVENT_KINDS.find((one) => one === kind) ?? kindOf(raw),
      tag: typeof tag === 'string' ? tag : '',
      jid,
      minion: id,
      subject,
      seq,
      incarnation: typeof notice['incarnation'] === 'string' ? notice['incarnation'] : incarnation,
      timeMs: typeof receivedAt === 'number' ? receivedAt : (storedMs ?? atMs),
    },
    raw,
  );
}

/** Older rows of quarantine lack the kind: rows on record are JSON, log-ins name their act. */
function kindOf(raw: Uint8Array): EventKind {
  if (raw[0] === OPENING_BRACKET) return 'audit';
  return Buffer.from(raw).includes('act') ? 'auth' : 'sighting';
}

/** Reads a notice; a notice in no known form is `unfit`. */
export function noticeIn(event: NoticeEvent, body: Uint8Array): Notice {
  const nothing = { logIns: [], sightings: [], audited: [], jobs: [] };
  let rows: NoticeRows;
  try {
    rows = rowsOf(event, body);
  } catch (unfit) {
    rows = { unfit };
  }
  const { logIns = [], sightings = [], audited = [] } = rows;
  return { event, body, ...nothing, ...rows, rows: new Set([...logIns, ...sightings, ...audited]) };
}

function rowsOf(event: NoticeEvent, body: Uint8Array): NoticeRows {
  if (event.kind === 'audit') return auditRowsOf(body);
  const map = unpackMap(body);
  if (textOf(map, 'kind') === 'below') return belowOf(map, event);
  return event.kind === 'auth' ? logInOf(map, event) : sightingOf(map, event);
}

/** An accepted log-in (libs/master `judgeAuth`); every other verdict starts no session. */
function logInOf(map: SaltMap, event: NoticeEvent): NoticeRows {
  const id = textOf(map, 'id');
  const isIn = textOf(map, 'act') === 'accept' && boolOf(map, 'result') === true;
  if (!isIn) return {};
  if (!isMinionId(id)) throw new Error('a log-in without the id of a minion');
  return { logIns: [{ id, at: event.timeMs }] };
}

/** The job below a syndic, and the sighting that this syndic reported it. */
function belowOf(map: SaltMap, event: NoticeEvent): NoticeRows {
  const job = syndicJob(map, event);
  const { jid, syndic, minions } = job;
  const detail = { minions: minions.length };
  return {
    jobs: [job],
    sightings: [{ jid, ids: [syndic], kind: 'below', at: event.timeMs, detail }],
  };
}

function sightingOf(map: SaltMap, event: NoticeEvent): NoticeRows {
  const jid = textOf(map, 'jid');
  const kind = textOf(map, 'kind');
  const given = listOf(map, 'ids');
  if (!isJid(jid)) throw new Error('a sighting without a jid');
  if (kind === undefined || !SIGHTING_KINDS.has(kind))
    throw new Error('a sighting of no known kind');
  if (given === undefined) throw new Error('a sighting without minions');
  const ids = given.filter((id) => id === '' || isMinionId(id));
  const at = event.timeMs;
  return {
    sightings: [{ jid, ids, kind: kind as SightingKind, at, detail: detailOf(map) }],
    ...(ids.length < given.length ? { unfit: new Error('a sighting of what is no minion') } : {}),
  };
}

function detailOf(map: SaltMap): Record<string, string | number | boolean> {
  const detail: Record<string, string | number | boolean> = {};
  const given = mapIn(map, 'detail');
  for (const key of given?.keys() ?? []) {
    if (typeof key !== 'string' || given === undefined || isMap(given.get(key))) continue;
    const value = textOf(given, key) ?? intOf(given, key) ?? boolOf(given, key);
    if (value !== undefined) detail[key] = value;
  }
  return detail;
}

/** Reads rows as `AuditWriter` of libs/bus packs them. */
function auditRowsOf(body: Uint8Array): NoticeRows {
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
