import { isJid, jidStartTime } from '@brine/job';
import { isMap, mapIn, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { toJson } from '@brine/wire/text';
import type { Pool } from 'pg';
import { select } from '../connection/query.ts';
import { type LoadColumns, readLoad } from './get-load.ts';
import { globToRegex } from './glob.ts';

/** Jobs of one page. */
const MAX_JOBS = 10_000;
const DEFAULT_JOBS = 1_000;
/** Bytes of loads of one page; the first job comes whatever its size. */
const MAX_PAGE_BYTES = 48 * 1024 * 1024;
/** Patterns of one search: each costs a comparison per job. */
const MAX_PATTERNS = 100;
/** A pattern that no text matches. */
const MATCHES_NOTHING = '$x';
/**
 * Jobs that one page of a search examines. A page has to come in 200 ms, however rare a match is. A
 * page with few matches may be short or empty; its `next` continues the search.
 */
const MAX_LOOKED_AT = 20_000;

/** Selects jobs; a job has to meet all conditions. */
export interface ListJobsOptions {
  /** Jobs of a page, 1 to 10,000; default 1,000. */
  readonly limit?: number;
  /** Only jids below this one: the `next` of the page before. */
  readonly before?: string;
  /** Only jids above this one. */
  readonly after?: string;
  /** Oldest first; `next` is then for `after`. Default false: newest first, `next` for `before`. */
  readonly oldestFirst?: boolean;
  /** Globs; a job matches when one of its functions matches one of them. */
  readonly searchFunction?: readonly string[];
  /** Globs that are compared with the target expression, not with minion ids (as Salt does). */
  readonly searchTarget?: readonly string[];
  /** A job matches when one entry of its metadata is equal to one of these. */
  readonly searchMetadata?: SaltMap;
  /** Started at or after, unix ms. */
  readonly startTime?: number;
  /** Started at or before, unix ms. */
  readonly endTime?: number;
  /** Leave out find_job and the like. Default false, as Salt's list_jobs. */
  readonly leaveOutHidden?: boolean;
}

/** A page of jobs. */
export interface JobPage {
  /** jid → `{Function, Arguments, Target, Target-type, User, Metadata?, StartTime}`. */
  readonly jobs: ReadonlyMap<string, SaltMap>;
  /**
   * Give it as `before` (or `after`, oldest first) for the next page; undefined on the last. A page
   * of a search may be empty and have a next.
   */
  readonly next: string | undefined;
}

/** $2 and $3: jids above and below; $4 and $5: from and to. */
const IN_RANGE = `($2::text IS NULL OR jid > $2) AND ($3::text IS NULL OR jid < $3)
      AND ($4::text IS NULL OR jid >= $4) AND ($5::text IS NULL OR jid <= $5)`;

/**
 * The jid that a page of a search ends with: reads the index only, no row. It has the parameters of
 * a page, although it does not need the limit.
 */
const lastLookedAt = (order: string): string => `
SELECT jid FROM brine.jobs WHERE $1::integer IS NOT NULL AND ${IN_RANGE}
ORDER BY jid ${order} OFFSET ${MAX_LOOKED_AT - 1} LIMIT 1`;

const pageOf = (order: string): string => `
SELECT jid, raw, json, more FROM (
  SELECT jid, raw, json,
    sum(size) OVER (ORDER BY jid ${order}) AS upto,
    row_number() OVER (ORDER BY jid ${order}) AS place,
    lead(jid) OVER (ORDER BY jid ${order}) IS NOT NULL AS more
  FROM (
    SELECT jid, load_raw AS raw, CASE WHEN load_raw IS NULL THEN load::text END AS json,
      coalesce(octet_length(load_raw), pg_column_size(load)) AS size
    FROM brine.jobs
    WHERE ${IN_RANGE}
      AND ($6::text IS NULL OR ${matchesOne('fun', '$6')})
      AND ($7::text IS NULL OR ${matchesOne('tgt', '$7')})
      AND ($8::jsonb IS NULL OR EXISTS (
        SELECT FROM jsonb_each($8::jsonb) AS wanted
        WHERE coalesce(load->'metadata', load->'kwargs'->'metadata', jsonb_path_query_first(
          load, '$.arg[*] ? (@.__kwarg__ == true && exists(@.metadata)).metadata'
        ))->wanted.key = wanted.value))
      AND NOT ($9::boolean AND hidden)
    ORDER BY jid ${order} LIMIT $1 + 1
  ) AS page
) AS sized
WHERE place <= $1 AND (place = 1 OR upto <= ${MAX_PAGE_BYTES})
ORDER BY jid ${order}`;

/** True if one entry matches. Most lists have one entry, and a subquery costs more. */
function matchesOne(list: string, pattern: string): string {
  return `${list}[1] ~ ${pattern} OR cardinality(${list}) > 1 AND EXISTS (
        SELECT FROM unnest(${list}) AS name WHERE name ~ ${pattern})`;
}

/** The statements; exported for the test of their plans. */
export const LIST_QUERIES = {
  newest: { page: pageOf('DESC'), last: lastLookedAt('DESC') },
  oldest: { page: pageOf('ASC'), last: lastLookedAt('ASC') },
};

/** Lists jobs, newest first, as salt-run jobs.list_jobs shows them. */
export async function listJobs(pool: Pool, options: ListJobsOptions = {}): Promise<JobPage> {
  const { oldestFirst = false, leaveOutHidden = false, searchMetadata } = options;
  const limit = Math.min(Math.max(options.limit ?? DEFAULT_JOBS, 1), MAX_JOBS);
  const functions = patternOf(options.searchFunction);
  const targets = patternOf(options.searchTarget);
  const metadata = searchMetadata === undefined ? null : toJson(searchMetadata).json;
  const queries = oldestFirst ? LIST_QUERIES.oldest : LIST_QUERIES.newest;
  const range = [
    options.after ?? null,
    options.before ?? null,
    options.startTime === undefined ? null : jidText(options.startTime, '000'),
    options.endTime === undefined ? null : `${jidText(options.endTime, '999')}~`,
  ];
  const isSearch = leaveOutHidden || functions !== null || targets !== null || metadata !== null;
  const [edge] = isSearch
    ? await select<{ jid: string }>(pool, queries.last, [limit, ...range])
    : [];
  if (edge !== undefined) narrow(range, edge.jid, oldestFirst);
  const rows = await select<LoadColumns & { jid: string; more: boolean }>(pool, queries.page, [
    limit,
    ...range,
    functions,
    targets,
    metadata,
    leaveOutHidden,
  ]);
  const jobs = new Map(rows.map((row) => [row.jid, describeJob(row.jid, readLoad(row))]));
  const last = rows.at(-1);
  return { jobs, next: last?.more === true ? last.jid : edge?.jid };
}

/** Ends the range with the last jid that is examined. */
function narrow(range: (string | null)[], lastJid: string, oldestFirst: boolean): void {
  range[oldestFirst ? 3 : 2] = lastJid;
}

/** A job as salt/utils/jid.py format_jid_instance shows it. */
export function describeJob(jid: string, load: SaltMap): SaltMap {
  const args = load.get('arg');
  const metadata = metadataOf(load, Array.isArray(args) ? args : []);
  const shown: SaltMap = new Map<SaltValue, SaltValue>([
    ['Function', load.get('fun') ?? 'unknown-function'],
    ['Arguments', Array.isArray(args) ? args : []],
    ['Target', load.get('tgt') ?? 'unknown-target'],
    ['Target-type', textOf(load, 'tgt_type') ?? 'list'],
    ['User', textOf(load, 'user') ?? 'root'],
  ]);
  if (metadata !== undefined) shown.set('Metadata', metadata);
  shown.set('StartTime', isJid(jid) ? jidStartTime(jid) : '');
  return shown;
}

/** From the load, its keywords, or the keywords among its arguments (`salt … metadata={…}`). */
function metadataOf(load: SaltMap, args: readonly SaltValue[]): SaltValue | undefined {
  const direct = load.get('metadata') ?? mapIn(load, 'kwargs')?.get('metadata');
  if (direct !== undefined) return direct;
  const isKeywords = (arg: SaltValue): arg is SaltMap =>
    isMap(arg) && arg.get('__kwarg__') === true && arg.has('metadata');
  return args.find(isKeywords)?.get('metadata');
}

/** Joins globs into one pattern that matches if one of them does. */
function patternOf(globs: readonly string[] | undefined): string | null {
  if (globs === undefined) return null;
  if (globs.length === 0) return MATCHES_NOTHING;
  const patterns = globs.slice(0, MAX_PATTERNS).map(globToRegex);
  return patterns.map((pattern) => `(?:${pattern})`).join('|');
}

/** The jid of a time: its digits are the date and time in UTC. */
export function jidText(ms: number, microseconds: string): string {
  return new Date(ms).toISOString().replace(/\D/g, '') + microseconds;
}
