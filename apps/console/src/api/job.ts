import type { Events, Resolved } from '@brine/api';
import type {
  BegunJob,
  Job,
  JobGroups,
  JobLine,
  JobMinionsPage,
  JobReturn,
  JobsPage,
  JobStates,
  JobTimeline,
  JobTrace,
  Silences,
} from '@brine/api/jobs';
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import { cameOf, type LedgerState, type LiveCounts } from '../state/ledger.ts';
import { ask, pathOf } from './ask.ts';

const PAGE = 200;
const LIST_MAX = 500;
/** How often a job is asked for again at most, and at least while it waits, ms. */
const SOON_MS = 2_000;
const SELDOM_MS = 60_000;
/** The clock of the master may be behind the browser's: it is asked a little later, ms. */
const AFTER_DEADLINE_MS = 500;
/** Times that a job is asked for soon while the job cache is behind. */
const CATCH_UP_MAX = 300;
/** While returns are still read for an answer, ms. */
const UNREAD_MS = 1_500;
/** The largest return that a page reads, bytes: a browser can not draw more. */
export const RETURN_MAX = 4_000_000;

/** Everything that is known of a job, for invalidation. */
export const jobKey = (jid: string) => ['job', jid] as const;

const pathOfJob = (jid: string, ...parts: readonly string[]): string =>
  `/jobs${pathOf(jid, ...parts)}`;

/** A job, and again when something of it is due. `live`: what a stream counts of it. */
export function jobQuery(jid: string, live?: LiveCounts) {
  return queryOptions({
    queryKey: [...jobKey(jid), 'now'],
    queryFn: ({ signal }) => ask<Job>(pathOfJob(jid), { signal }),
    refetchInterval: ({ state: { data, dataUpdateCount } }) =>
      data === undefined ? false : nextAskMs(data, live, dataUpdateCount),
  });
}

/** When a job is asked for again: at its deadline, or while the job cache is behind a stream. */
function nextAskMs({ counts, deadline }: Job, live: LiveCounts | undefined, asked: number) {
  const isBehind = live !== undefined && live.returned + live.failed > cameOf(counts);
  if (isBehind && asked < CATCH_UP_MAX) return SOON_MS;
  if (counts.waiting === 0) return false;
  // A job that began before its stream is not counted there.
  if (live === undefined && asked < CATCH_UP_MAX) return SOON_MS;
  const leftMs = deadline === null ? SELDOM_MS : Date.parse(deadline) - Date.now();
  return Math.min(SELDOM_MS, Math.max(SOON_MS, leftMs + AFTER_DEADLINE_MS));
}

/** A job as it was at a time. */
export function jobAtQuery(jid: string, at: string | undefined) {
  return queryOptions({
    queryKey: [...jobKey(jid), 'at', at],
    queryFn: ({ signal }) => ask<Job>(pathOfJob(jid), { query: { at }, signal }),
    enabled: at !== undefined,
    placeholderData: keepPreviousData,
  });
}

/** The time of the first and of the last return. */
export function jobTimelineQuery(jid: string, bins = 1) {
  return queryOptions({
    queryKey: [...jobKey(jid), 'timeline', bins],
    queryFn: ({ signal }) =>
      ask<JobTimeline>(pathOfJob(jid, 'timeline'), { query: { bins }, signal }),
  });
}

/** Minions of a job, by id. */
export function jobMinionsQuery(
  jid: string,
  filter: { readonly state: string | undefined; readonly q: string | undefined },
) {
  return infiniteQueryOptions({
    queryKey: [...jobKey(jid), 'minions', filter],
    queryFn: ({ pageParam: after, signal }) =>
      ask<JobMinionsPage>(pathOfJob(jid, 'minions'), {
        query: { ...filter, limit: PAGE, after },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
  });
}

/** How returns are compared. */
export type Likeness = 'exact' | 'states';

/** The returns of a job by what they contain. */
export function jobGroupsQuery(jid: string, like: Likeness) {
  return queryOptions({
    queryKey: [...jobKey(jid), 'groups', like],
    queryFn: ({ signal }) =>
      ask<JobGroups>(pathOfJob(jid, 'groups'), { query: { like, limit: LIST_MAX }, signal }),
    refetchInterval: ({ state: { data } }) => (data?.whole === false ? UNREAD_MS : false),
  });
}

/** What the states of a job came to. */
export function jobStatesQuery(jid: string) {
  return queryOptions({
    queryKey: [...jobKey(jid), 'states'],
    queryFn: ({ signal }) =>
      ask<JobStates>(pathOfJob(jid, 'states'), { query: { limit: LIST_MAX }, signal }),
    refetchInterval: ({ state: { data } }) => (data?.whole === false ? UNREAD_MS : false),
  });
}

/** The path of a return, for people who take it with a tool. */
export function returnPath(jid: string, id: string): string {
  return pathOfJob(jid, 'returns', id);
}

/** What a minion gave. @param evidence also returns of it that do not count */
export function jobReturnQuery(jid: string, id: string, evidence = false) {
  return queryOptions({
    queryKey: [...jobKey(jid), 'return', id, evidence],
    queryFn: ({ signal }) =>
      ask<JobReturn>(returnPath(jid, id), {
        query: { evidence: evidence || undefined },
        bytesMax: RETURN_MAX,
        signal,
      }),
    // A return does not change.
    staleTime: Infinity,
  });
}

/** Why minions are silent. */
export function silencesQuery(jid: string) {
  return infiniteQueryOptions({
    queryKey: [...jobKey(jid), 'why'],
    queryFn: ({ pageParam: after, signal }) =>
      ask<Silences>(pathOfJob(jid, 'why'), { query: { limit: LIST_MAX, after }, signal }),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
  });
}

/** The way of a job through the services. */
export function traceQuery(jid: string) {
  return queryOptions({
    queryKey: [...jobKey(jid), 'trace'],
    queryFn: ({ signal }) => ask<JobTrace>(pathOfJob(jid, 'trace'), { signal }),
  });
}

/** Past runs that are asked how long they took. */
const PAST_RUNS = 3;
/** What a shell pattern has a meaning for. */
const GLOB = /[*?[\]]/;

/** How long past runs of a function took, ms: the middle one of three. Null: none is known. */
export function usualTimeQuery({ jid, fun }: Pick<JobLine, 'jid' | 'fun'>) {
  const [name = ''] = fun;
  return queryOptions({
    queryKey: ['usual-time', name, jid],
    queryFn: async ({ signal }) => {
      const query = { fun: name, state: 'closed', limit: PAST_RUNS + 1 };
      const { items } = await ask<JobsPage>('/jobs', { query, signal });
      const past = items.filter((job) => job.jid !== jid).slice(0, PAST_RUNS);
      const lines = await Promise.all(
        past.map((job) =>
          ask<JobTimeline>(pathOfJob(job.jid, 'timeline'), { query: { bins: 1 }, signal }),
        ),
      );
      const times = lines
        .flatMap(({ from, to }) =>
          from === null || to === null ? [] : [Date.parse(to) - Date.parse(from)],
        )
        .sort((one, other) => one - other);
      return times[Math.floor(times.length / 2)] ?? null;
    },
    enabled: fun.length === 1 && !GLOB.test(name),
    staleTime: Infinity,
  });
}

/** What the master counts before a job is run again. */
export interface Expected {
  readonly count: number;
  readonly digest?: string;
}

/** Minions whose ids a page reads to name them exactly; of more it knows the count alone. */
const NAMED_MAX = 2_000;

/** Counts the minions of a job in some states that a command for them would reach now. */
export async function countAgain(
  jid: string,
  states: readonly LedgerState[],
  { counts, fun }: Pick<Job, 'counts' | 'fun'>,
): Promise<Expected> {
  const count = states.reduce((sum, state) => sum + counts[state], 0);
  if (count > NAMED_MAX || count === 0) return { count };
  const ids: string[] = [];
  for (const state of states) ids.push(...(await idsIn(jid, state)));
  if (ids.length === 0) return { count: 0 };
  const body = { tgt: ids, tgtType: 'list', fun: fun[0] };
  const { count: found, digest } = await ask<Resolved>('/targets/resolve', { body });
  return { count: found, digest };
}

async function idsIn(jid: string, state: LedgerState): Promise<readonly string[]> {
  const ids: string[] = [];
  let after: string | null = '';
  while (after !== null && ids.length <= NAMED_MAX) {
    const query = { state, limit: LIST_MAX, after };
    const page: JobMinionsPage = await ask(pathOfJob(jid, 'minions'), { query });
    ids.push(...page.items.map(({ id }) => id));
    after = page.next;
  }
  return ids;
}

/** Runs a job once more on its minions in some states. @throws ApiError, `changed` with counts */
export function rerun(
  jid: string,
  states: readonly LedgerState[],
  expect: Expected,
  idempotencyKey: string,
): Promise<BegunJob> {
  return ask(pathOfJob(jid, 'rerun'), { body: { states, expect }, idempotencyKey });
}

/** Ends a job on the minions that have not returned. @throws ApiError, `changed` with counts */
export function signal(
  jid: string,
  act: 'term' | 'kill',
  expect: Expected,
  idempotencyKey: string,
): Promise<BegunJob> {
  return ask(pathOfJob(jid, 'signal'), { body: { act, expect }, idempotencyKey });
}

/** The events of a job. @param from when it was published */
export function jobEventsQuery(jid: string, from: string) {
  return infiniteQueryOptions({
    queryKey: [...jobKey(jid), 'events'],
    queryFn: ({ pageParam, signal }) =>
      ask<Events>('/events', { query: { jid, from: pageParam, limit: LIST_MAX }, signal }),
    initialPageParam: from,
    getNextPageParam: ({ next }) => next,
  });
}
