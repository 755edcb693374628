import type { Bus } from '@brine/bus';
import type { JobCache, JobWithLedger, ListJobsOptions, QuarantineRow } from '@brine/job-cache';
import type { SaltMap, SaltValue } from '@brine/wire';
import { boolOf, intOf, listOf, mapIn, mapOf, textOf } from '@brine/wire';
import { fromJson } from '@brine/wire/text';
import { DURABLE_QUERIES } from './durable-queries.ts';
import { exportQuery, importQuery } from './exchange-queries.ts';
import { PAGE_QUERIES } from './page-queries.ts';
import { QUARANTINE_QUERIES } from './quarantine-queries.ts';
import { QUEUE_QUERIES } from './queue-queries.ts';
import { silentQuery } from './silent-query.ts';

/** The context of a query besides the database. */
export interface QueryContext {
  /** The incarnation of the stream of events; undefined before it is known. */
  readonly incarnation: () => string | undefined;
  readonly bus: Bus;
  /** Passes an event from quarantine to its returner; false if that is not configured here. */
  readonly returnEvent: (row: QuarantineRow) => Promise<boolean>;
}

/** Answers one query; both sides are maps as `@brine/wire` packs them. */
export type Query = (
  cache: JobCache,
  request: SaltMap,
  context: QueryContext,
) => Promise<SaltValue>;

/** A request with a missing or invalid field. */
export class QueryError extends Error {
  override readonly name = 'QueryError';
}

/** The queries by the last token of their subject, `brine.jobs.<name>`; shapes: README. */
export const QUERIES: ReadonlyMap<string, Query> = new Map<string, Query>([
  ['get_load', async (cache, request) => (await cache.getLoad(jidOf(request))) ?? null],
  ['get_jid', getJid],
  ['list_jobs', listJobs],
  ['outstanding', outstanding],
  ['job', job],
  ...DURABLE_QUERIES,
  ...PAGE_QUERIES,
  ...QUARANTINE_QUERIES,
  ...QUEUE_QUERIES,
  ['ledger', async (cache, request) => mapOf(await cache.ledger(jidOf(request)))],
  ['database', async (cache) => fromJson(JSON.parse(JSON.stringify(await cache.facts())))],
  ['at', at],
  ['export', exportQuery],
  ['import', importQuery],
  ['audit', audit],
  ['audit_newest', newestAudit],
  ['last_log_ins', lastLogIns],
  ['heard_since', seenSince],
  ['own', own],
  ['end_time', async (cache, request) => (await cache.endTime(jidOf(request))) ?? null],
  [
    'silent',
    (cache, request, { incarnation }) => silentQuery(cache, jidOf(request), request, incarnation()),
  ],
  ['stored', stored],
]);

async function audit(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  const after = { writer: textOf(request, 'writer') ?? '', n: intOf(request, 'n') ?? 0 };
  return (await cache.audit.page(after)).map((row) => mapOf({ ...row }));
}

async function lastLogIns(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  return (await cache.audit.lastLogIns(textOf(request, 'after') ?? '')).map((row) =>
    mapOf({ ...row }),
  );
}

async function seenSince(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  const sinceMs = numberOf(request, 'sinceMs');
  const ids = listOf(request, 'ids')?.filter((id) => typeof id === 'string');
  if (sinceMs === undefined || ids === undefined) {
    throw new QueryError('heard_since needs ids and sinceMs');
  }
  return [...(await cache.seenSince(ids, sinceMs))];
}

async function own(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  const user = textOf(request, 'user');
  const jids = listOf(request, 'jids')?.filter((jid) => typeof jid === 'string');
  if (user === undefined || jids === undefined) throw new QueryError('own needs user and jids');
  return [...(await cache.ownJobs(user, jids))];
}

async function newestAudit(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  const [kind, principal] = [textOf(request, 'kind'), textOf(request, 'principal')];
  const [since, until] = [msOf(request, 'since'), msOf(request, 'until')];
  const place = mapIn(request, 'before') ?? mapOf({});
  const [at, writer, n] = [msOf(place, 'at'), textOf(place, 'writer'), intOf(place, 'n')];
  const isPlace = at !== undefined && writer !== undefined && n !== undefined;
  const rows = await cache.audit.newest({
    limit: intOf(request, 'limit') ?? 50,
    ...(kind === undefined ? {} : { kind }),
    ...(principal === undefined ? {} : { principal }),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
    ...(isPlace ? { before: { at, writer, n } } : {}),
  });
  return rows.map((row) => mapOf({ ...row }));
}

/** From the year 10000 on times have another form. */
const MS_END = Date.UTC(10_000, 0);

/** A time in unix ms. @throws QueryError for one that no row has */
function msOf(request: SaltMap, name: string): number | undefined {
  const ms = intOf(request, name);
  if (ms !== undefined && (ms < 0 || ms >= MS_END)) throw new QueryError(`${name} is no time`);
  return ms;
}

async function getJid(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  const after = textOf(request, 'after');
  const limit = intOf(request, 'limit');
  const page = await cache.getJid(jidOf(request), {
    ...(after === undefined ? {} : { after }),
    ...(limit === undefined ? {} : { limit }),
  });
  return mapOf({ returns: new Map<SaltValue, SaltValue>(page.returns), next: page.next ?? null });
}

async function listJobs(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  const wanted: { [Key in keyof ListJobsOptions]: ListJobsOptions[Key] | undefined } = {
    limit: intOf(request, 'limit'),
    before: textOf(request, 'before'),
    after: textOf(request, 'after'),
    oldestFirst: boolOf(request, 'oldestFirst'),
    searchFunction: patternsOf(request, 'searchFunction'),
    searchTarget: patternsOf(request, 'searchTarget'),
    searchMetadata: mapIn(request, 'searchMetadata'),
    startTime: numberOf(request, 'startTime'),
    endTime: numberOf(request, 'endTime'),
    leaveOutHidden: boolOf(request, 'leaveOutHidden'),
  };
  const given = Object.entries(wanted).filter(([, value]) => value !== undefined);
  const page = await cache.listJobs(Object.fromEntries(given));
  return mapOf({ jobs: new Map<SaltValue, SaltValue>(page.jobs), next: page.next ?? null });
}

async function outstanding(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  const sinceMs = numberOf(request, 'sinceMs');
  if (sinceMs === undefined) throw new QueryError('outstanding needs sinceMs');
  const jobs = await cache.outstanding({ sinceMs });
  return jobs.map(({ jid, waiting }) => mapOf({ jid, waiting: [...waiting] }));
}

async function job(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  const states = boolOf(request, 'states') ?? false;
  const found = await cache.getJob(jidOf(request), { states });
  return found === undefined ? null : jobMap(found);
}

async function at(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  const atMs = numberOf(request, 'atMs');
  if (atMs === undefined) throw new QueryError('at needs atMs');
  const found = await cache.jobAt(jidOf(request), atMs);
  if (found === undefined) return null;
  const states = found.states && new Map<SaltValue, SaltValue>(found.states);
  return mapOf({ ...found, states });
}

/** `{returns: [[jid, id]]}`: for each, in order, whether it is committed. */
async function stored(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  const asked = (listOf(request, 'returns') ?? []).map((pair) => {
    const [jid, id] = Array.isArray(pair) ? pair : [];
    if (typeof jid !== 'string' || typeof id !== 'string') {
      throw new QueryError('a return is asked for by [jid, id]');
    }
    return { jid, id };
  });
  return [...(await cache.storedReturns(asked))];
}

function jobMap(found: JobWithLedger): SaltMap {
  return mapOf({
    jid: found.jid,
    load: found.load,
    principal: found.principal,
    user: found.user,
    fun: [...found.fun],
    tgt: [...found.tgt],
    tgtType: found.tgtType,
    minions: [...found.minions],
    missing: [...found.missing],
    publishedAt: found.publishedAt,
    deadlineAt: found.deadlineAt ?? null,
    hidden: found.hidden,
    origin: found.origin,
    host: found.host,
    requestId: found.requestId,
    incarnation: found.incarnation,
    seq: found.seq,
    ledger: mapOf(found.ledger),
    states: found.states && new Map<SaltValue, SaltValue>(found.states),
  });
}

function jidOf(request: SaltMap): string {
  const jid = textOf(request, 'jid');
  if (jid === undefined) throw new QueryError('the query needs a jid');
  return jid;
}

function numberOf(request: SaltMap, key: string): number | undefined {
  const value = request.get(key);
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** A text with commas or a list of texts (Salt: salt/utils/args.py split_input). */
function patternsOf(request: SaltMap, key: string): readonly string[] | undefined {
  const text = textOf(request, key);
  const given = text === undefined ? listOf(request, key) : text.split(',');
  return given?.filter((item) => typeof item === 'string').map((item) => item.trim());
}
