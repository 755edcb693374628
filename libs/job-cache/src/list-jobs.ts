import type { Pool } from 'pg';
import { isMap, mapIn, textOf, toJson } from '@brine/wire';
import type { SaltMap, SaltValue } from '@brine/wire';
import { isJid, jidStartTime } from '@brine/job';
import { globToRegex } from './glob.ts';
import { readLoad } from './load-columns.ts';
import type { LoadColumns } from './load-columns.ts';
import { select } from './query.ts';

/** Jobs of one page. */
const MAX_JOBS = 10_000;
const DEFAULT_JOBS = 1_000;
/** Bytes of loads of one page; the first job comes whatever its size. */
const MAX_PAGE_BYTES = 48 * 1024 * 1024;
/** Patterns of one search: each costs a comparison per job. */
const MAX_PATTERNS = 100;

/** What to list; all conditions must hold. */
export interface ListJobsOptions {
  /** Jobs of a page, 1 to 10,000; default 1,000. */
  readonly limit?: number;
  /** Only jids below this one: the `next` of the page before. */
  readonly before?: string;
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

/** A page of jobs, newest first. */
export interface JobPage {
  /** jid → `{Function, Arguments, Target, Target-type, User, Metadata?, StartTime}`. */
  readonly jobs: ReadonlyMap<string, SaltMap>;
  /** Give it as `before` for the next page; undefined on the last. */
  readonly next: string | undefined;
}

const LIST_JOBS = `
SELECT jid, raw, json, more FROM (
  SELECT jid, raw, json,
    sum(size) OVER (ORDER BY jid DESC) AS upto,
    row_number() OVER (ORDER BY jid DESC) AS place,
    lead(jid) OVER (ORDER BY jid DESC) IS NOT NULL AS more
  FROM (
    SELECT jid, load_raw AS raw, CASE WHEN load_raw IS NULL THEN load::text END AS json,
      coalesce(octet_length(load_raw), pg_column_size(load)) AS size
    FROM brine.jobs
    WHERE ($2::text IS NULL OR jid < $2)
      AND ($3::text[] IS NULL OR EXISTS (
        SELECT FROM unnest(fun) AS name, unnest($3::text[]) AS pattern WHERE name ~ pattern))
      AND ($4::text[] IS NULL OR EXISTS (
        SELECT FROM unnest(tgt) AS name, unnest($4::text[]) AS pattern WHERE name ~ pattern))
      AND ($5::jsonb IS NULL OR EXISTS (
        SELECT FROM jsonb_each($5::jsonb) AS wanted
        WHERE coalesce(load->'metadata', load->'kwargs'->'metadata', jsonb_path_query_first(
          load, '$.arg[*] ? (@.__kwarg__ == true && exists(@.metadata)).metadata'
        ))->wanted.key = wanted.value))
      AND ($6::text IS NULL OR jid >= $6)
      AND ($7::text IS NULL OR jid <= $7)
      AND NOT ($8::boolean AND hidden)
    ORDER BY jid DESC LIMIT $1 + 1
  ) AS page
) AS sized
WHERE place <= $1 AND (place = 1 OR upto <= ${MAX_PAGE_BYTES})
ORDER BY jid DESC`;

/** Lists jobs, newest first, as salt-run jobs.list_jobs shows them. */
export async function listJobs(pool: Pool, options: ListJobsOptions = {}): Promise<JobPage> {
  const rows = await select<LoadColumns & { jid: string; more: boolean }>(pool, LIST_JOBS, [
    Math.min(Math.max(options.limit ?? DEFAULT_JOBS, 1), MAX_JOBS),
    options.before ?? null,
    patterns(options.searchFunction),
    patterns(options.searchTarget),
    options.searchMetadata === undefined ? null : toJson(options.searchMetadata).json,
    options.startTime === undefined ? null : jidText(options.startTime, '000'),
    options.endTime === undefined ? null : `${jidText(options.endTime, '999')}~`,
    options.leaveOutHidden ?? false,
  ]);
  const jobs = new Map(rows.map((row) => [row.jid, describeJob(row.jid, readLoad(row))]));
  const last = rows.at(-1);
  return { jobs, next: last?.more === true ? last.jid : undefined };
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

function patterns(globs: readonly string[] | undefined): string[] | null {
  return globs === undefined ? null : globs.slice(0, MAX_PATTERNS).map(globToRegex);
}

/** The jid that would be made at a time: its digits are the date and time in UTC. */
function jidText(ms: number, microseconds: string): string {
  return new Date(ms).toISOString().replace(/\D/g, '') + microseconds;
}
