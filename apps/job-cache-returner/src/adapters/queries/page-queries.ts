import { STORED_ORIGINS } from '@brine/job';
import type { JobCache } from '@brine/job-cache';
import type { JobFilter, JobLine, MinionFilter } from '@brine/job-cache/pages';
import type { SaltMap, SaltValue } from '@brine/wire';
import { boolOf, intOf, listOf, mapOf, textOf } from '@brine/wire';

type Query = (cache: JobCache, request: SaltMap) => Promise<SaltValue>;

/** Items of a page at most; a worker may ask for fewer. */
const PAGE_MAX = 500;
const DEFAULT = 50;

/** The queries about pages of jobs: `page_jobs`, `page_job`, `page_minions`, … */
export const PAGE_QUERIES: readonly (readonly [string, Query])[] = [
  ['page_jobs', jobs],
  ['page_job', job],
  ['page_minions', minions],
  ['page_return', oneReturn],
  ['page_groups', groups],
  ['page_states', states],
  ['page_timeline', timeline],
  ['page_newest_return', newestReturn],
  ['page_minion_jobs', minionJobs],
  ['page_past_runs', pastRuns],
  ['page_numbers', numbers],
];

/** `{limit?, before?, principal?, fun?, tgt?, user?, minion?, state?, result?, from?, to?, …}`. */
async function jobs(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  const [from, to] = [request.get('from'), request.get('to')];
  const funs = listOf(request, 'fun')?.filter((one) => typeof one === 'string');
  const state = textOf(request, 'state');
  const result = textOf(request, 'result');
  const origin = STORED_ORIGINS.find((one) => one === textOf(request, 'origin'));
  const filter: JobFilter = {
    ...texts(request, ['principal', 'fun', 'tgt', 'user', 'minion']),
    ...(funs === undefined ? {} : { fun: funs }),
    ...(state === 'open' || state === 'closed' ? { state } : {}),
    ...(origin === undefined ? {} : { origin }),
    ...(isResult(result) ? { result } : {}),
    ...(typeof from === 'number' ? { from } : {}),
    ...(typeof to === 'number' ? { to } : {}),
    hidden: boolOf(request, 'hidden') ?? false,
  };
  const page = await cache.pages.jobs(filter, { limit: limitOf(request), ...before(request) });
  return mapOf({ jobs: page.jobs.map(lineOf), next: page.next ?? null });
}

/** `{jid}` → a line and its load; null for an unknown jid. */
async function job(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  const jid = needed(request, 'jid');
  const found = await cache.pages.job(jid);
  return found === undefined ? null : lineOf(found);
}

/** `{jid, state?, part?, ids?, after?, limit?}` → `{minions: [{id, …}], next}`. */
async function minions(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  const filter: MinionFilter = {
    ...stateOf(request),
    ...texts(request, ['part']),
    ...idsOf(request),
  };
  const page = { limit: limitOf(request), ...texts(request, ['after']) };
  const found = await cache.pages.minions(needed(request, 'jid'), filter, page);
  return mapOf({
    minions: found.minions.map((one) =>
      mapOf({ ...one, retcode: one.retcode ?? null, receivedAt: one.receivedAt ?? null }),
    ),
    next: found.next ?? null,
  });
}

/** `{jid, id}` → `{load, receivedAt, evidence}`; null without a return. */
async function oneReturn(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  const found = await cache.pages.return(needed(request, 'jid'), needed(request, 'id'));
  if (found === undefined) return null;
  return mapOf({ ...found, evidence: found.evidence.map((one) => mapOf({ ...one })) });
}

/** `{jid, likeness?, ids?, limit?}` → `{groups: [{digest, size, …}], more, isWhole}`. */
async function groups(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  const likeness = textOf(request, 'likeness') === 'states' ? 'states' : 'exact';
  const asked = { limit: limitOf(request), likeness, ...idsOf(request) } as const;
  const { groups: found, ...rest } = await cache.pages.groups(needed(request, 'jid'), asked);
  return mapOf({ ...rest, groups: found.map((one) => mapOf({ ...one })) });
}

/** `{jid, ids?, limit?}` → `{minions, states: [{id, ok, …}], more, isWhole}`. */
async function states(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  const asked = { limit: limitOf(request), ...idsOf(request) };
  const { states: found, ...rest } = await cache.pages.states(needed(request, 'jid'), asked);
  return mapOf({ ...rest, states: found.map((one) => mapOf({ ...one })) });
}

/** `{jid, bins, ids?}` → `{from, to, bins: [[ok, failed]]}`; no bins without returns. */
async function timeline(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  const bins = Math.min(Math.max(intOf(request, 'bins') ?? DEFAULT, 1), PAGE_MAX);
  const found = await cache.pages.timeline(needed(request, 'jid'), { bins, ...idsOf(request) });
  if (found === undefined) return mapOf({ bins: [] });
  return mapOf({ ...found, bins: found.bins.map(({ ok, failed }) => [ok, failed]) });
}

/** `{id, fun}` → `{jid, load, receivedAt}`; null without such a return. */
async function newestReturn(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  const found = await cache.pages.newestReturn(needed(request, 'id'), needed(request, 'fun'));
  return found === undefined ? null : mapOf({ ...found });
}

/** `{id, fun?, state?, judged?, before?, limit?}` → `{jobs: [{jid, state, …}], next}`. */
async function minionJobs(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  const page = await cache.pages.minionJobs(
    needed(request, 'id'),
    {
      ...texts(request, ['fun']),
      ...stateOf(request),
      judged: boolOf(request, 'judged') ?? false,
    },
    { limit: limitOf(request), ...before(request) },
  );
  const jobs = page.jobs.map(({ retcode, receivedAt, load, fun, ...line }) =>
    mapOf({
      ...line,
      fun: [...fun],
      retcode: retcode ?? null,
      receivedAt: receivedAt ?? null,
      load,
    }),
  );
  return mapOf({ jobs, next: page.next ?? null });
}

function stateOf(request: SaltMap): Pick<MinionFilter, 'state'> {
  const state = STATES.find((one) => one === textOf(request, 'state'));
  return state === undefined ? {} : { state };
}

/** `{funs, jid?, id?}` → `{runs: [{jid, id, at, failed, isTest, would}], next: {jid, id}}`. */
async function pastRuns(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  const funs = listOf(request, 'funs')?.filter((fun) => typeof fun === 'string') ?? [];
  const [jid, id] = [textOf(request, 'jid'), textOf(request, 'id')];
  const after = jid === undefined || id === undefined ? undefined : { jid, id };
  const { runs, next } = await cache.pages.pastRuns(funs, after);
  return mapOf({
    runs: runs.map((run) => mapOf({ ...run, would: run.would ?? null })),
    next: next === undefined ? null : mapOf({ ...next }),
  });
}

/**
 * `{principal?}` → `{open, minutes: [{minute, jobs, returns, failed}], isWhole, quarantined?}`;
 * what is in quarantine is counted for all jobs alone.
 */
async function numbers(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  const principal = textOf(request, 'principal');
  const { minutes, ...rest } = await cache.pages.numbers(principal);
  const quarantined =
    principal === undefined ? (await cache.quarantined.list({}, 1)).total : undefined;
  return mapOf({ ...rest, quarantined, minutes: minutes.map((one) => mapOf({ ...one })) });
}

const STATES = ['waiting', 'returned', 'failed', 'late', 'never'] as const;
const RESULTS = ['ok', 'failed', 'late', 'never'] as const;

function isResult(text: string | undefined): text is (typeof RESULTS)[number] {
  return RESULTS.some((one) => one === text);
}

function lineOf({ deadlineAt, ledger, fun, tgt, ...line }: JobLine): SaltMap {
  return mapOf({
    ...line,
    fun: [...fun],
    tgt: [...tgt],
    deadlineAt: deadlineAt ?? null,
    ledger: mapOf(ledger),
  });
}

function limitOf(request: SaltMap): number {
  return Math.min(Math.max(intOf(request, 'limit') ?? DEFAULT, 1), PAGE_MAX);
}

function before(request: SaltMap): { readonly before?: string } {
  return texts(request, ['before']);
}

function idsOf(request: SaltMap): { readonly ids?: readonly string[] } {
  const ids = listOf(request, 'ids')?.filter((id) => typeof id === 'string');
  return ids === undefined ? {} : { ids };
}

function texts<Name extends string>(
  request: SaltMap,
  names: readonly Name[],
): { readonly [One in Name]?: string } {
  const found = names.flatMap((name) => {
    const value = textOf(request, name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(found) as { readonly [One in Name]?: string };
}

function needed(request: SaltMap, name: string): string {
  const text = textOf(request, name);
  if (text === undefined) throw new RangeError(`the query needs ${name}`);
  return text;
}
