import type {
  Grains,
  MinionDetail,
  MinionJobsPage,
  MinionPart,
  MinionsPage,
} from '@brine/api/fleet';
import type { BegunJob, Silences } from '@brine/api/jobs';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import type { FleetFilter } from '../state/fleet/fleet-search.ts';
import { ask, pathOf } from './ask.ts';

/** Minions of a page of the fleet. */
export const FLEET_PAGE = 100;
const JOBS_PAGE = 50;
/** The API gives this many at once. */
const IDS_PAGE = 500;

/** Parts of a minion that one asks for one by one. */
export type PartName = 'grains' | 'pillar' | 'mine' | 'schedule' | 'beacons';

/** How many minions match, and how many have which value. */
export function fleetCountsQuery(filter: FleetFilter) {
  return queryOptions({
    queryKey: ['minions', filter, 'counts'],
    queryFn: async ({ signal }) => {
      const query = { ...filter, facets: true, limit: 1 };
      const { total, facets } = await ask<MinionsPage>('/minions', { query, signal });
      return { total, facets };
    },
  });
}

/** A page of the fleet, by its number. */
export function fleetPageQuery(filter: FleetFilter, page: number) {
  return queryOptions({
    queryKey: ['minions', filter, page],
    queryFn: async ({ signal }) => {
      const first = page * FLEET_PAGE;
      const query = { ...filter, limit: FLEET_PAGE, offset: first };
      const { items } = await ask<MinionsPage>('/minions', { query, signal });
      return { first, items };
    },
  });
}

/** The ids of the accepted minions of a filter, if they are no more than one page. */
export async function idsOf(filter: FleetFilter): Promise<readonly string[] | undefined> {
  const query = { ...filter, key: ['accepted'], limit: IDS_PAGE };
  const { items, next } = await ask<MinionsPage>('/minions', { query });
  return next === null ? items.map(({ id }) => id) : undefined;
}

export function minionQuery(id: string) {
  return queryOptions({
    queryKey: ['minion', id],
    queryFn: ({ signal }) => ask<MinionDetail>(`/minions${pathOf(id)}`, { signal }),
  });
}

/** A part of a minion, as the master keeps it. */
export function minionPartQuery(id: string, part: PartName) {
  return queryOptions({
    queryKey: ['minion', id, part],
    queryFn: async ({ signal }): Promise<MinionPart> => {
      const path = `/minions${pathOf(id, part)}`;
      if (part !== 'grains') return ask<MinionPart>(path, { signal });
      const { grains, updated } = await ask<Grains>(path, { signal });
      return { data: grains, updated, jid: null, masked: false };
    },
  });
}

/** The values of a pillar. The master writes on record who asked. */
export function revealPillar(id: string): Promise<MinionPart> {
  return ask(`/minions${pathOf(id, 'pillar')}`, { query: { reveal: true } });
}

/** Has a minion send a part again. */
export function refreshPart(id: string, part: PartName, idempotencyKey: string): Promise<BegunJob> {
  const path = `/minions${pathOf(id, part, 'refresh')}`;
  return ask(path, { method: 'POST', idempotencyKey });
}

/** The jobs of a minion, newest first. */
export function minionJobsQuery(id: string, state?: string) {
  return infiniteQueryOptions({
    queryKey: ['minion', id, 'jobs', state],
    queryFn: ({ pageParam, signal }) =>
      ask<MinionJobsPage>(`/minions${pathOf(id, 'jobs')}`, {
        query: { state, limit: JOBS_PAGE, after: pageParam },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
  });
}

/** Why a minion is silent about a job. @param jid undefined: nothing is asked */
export function silenceQuery(id: string, jid: string | undefined) {
  return queryOptions({
    queryKey: ['minion', id, 'silence', jid],
    queryFn: ({ signal }) =>
      ask<Silences>(`/jobs${pathOf(jid ?? '', 'why')}`, { query: { minion: id }, signal }),
    enabled: jid !== undefined,
  });
}
