import { timeText } from '@brine/api';
import {
  LISTED_GRAINS,
  type MinionsFilter,
  type MinionShown,
  type MinionsPage,
  type MinionsQuery,
  minionsQuery,
  minionsSchema,
} from '@brine/api/fleet';
import {
  type FleetFacets,
  type FleetOrder,
  type FleetPlace,
  type FleetQuery,
  type FleetRow,
  pageOf,
} from '@brine/fleet';
import type { DescribedApp } from '@brine/http';
import { cursorOf, notOfThisList, placeOf } from '../cursor.ts';
import type { V1Parts } from '../parts.ts';
import { problems } from '../schemas.ts';
import { timeOf } from '../time-or-age.ts';
import { inPlace } from '../who.ts';
import { fleetView } from './fleet-view.ts';

const tags = ['minions'];

/** `/v1/minions`: the fleet. */
export function addMinions(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/minions',
    {
      exposeHeadRoute: true,
      schema: {
        tags,
        summary: 'Minions, by pages',
        description:
          'Has the accepted minions that some right of the caller may target; all keys with the ' +
          'right to the wheel `key.list_all`. Total and facets count these alone.',
        querystring: minionsQuery,
        response: { 200: minionsSchema, ...problems('too-many', 'no-master') },
      },
    },
    async (request): Promise<MinionsPage> => {
      const query = pageQuery(request.query);
      return inPlace(request, parts.room, async () => {
        const { index, sight, asOf } = await fleetView(request, parts);
        const { rows, total, next, facets } = pageOf(index, sight, query);
        const { sort } = request.query;
        return {
          items: rows.map(minionShown),
          total,
          ...(facets === undefined ? {} : { facets: facetsShown(facets) }),
          asOf,
          next: next === undefined ? null : cursorOf([sort, next.value, next.id]),
        };
      });
    },
  );
}

/** @throws RefusedRequest */
function pageQuery(asked: MinionsQuery): FleetQuery {
  const { sort, limit, after } = asked;
  const query = fleetQuery(asked, Date.now());
  if (after === undefined) return { ...query, limit };
  return { ...query, limit, after: afterOf(after, sort, query.order) };
}

/** Which minions are wanted, in which order. @throws RefusedRequest */
export function fleetQuery(
  asked: MinionsFilter,
  nowMs: number,
): Omit<FleetQuery, 'limit'> & { readonly order: FleetOrder } {
  const { q, key, present, silentSince, sort, facets } = asked;
  const order = orderOf(sort);
  return {
    id: q,
    keys: key === undefined ? undefined : [key].flat(),
    present: present === undefined ? undefined : present === 'true',
    grains: grainsOf(asked),
    silentSince:
      silentSince === undefined ? undefined : timeOf('silentSince', silentSince, nowMs) / 1_000,
    order,
    isDown: sort.startsWith('-'),
    withFacets: facets === 'true',
  };
}

function orderOf(sort: string): FleetOrder {
  const name = sort.replace(/^-/, '');
  const isGrain = (LISTED_GRAINS as readonly string[]).includes(name);
  return isGrain ? { grain: name } : (name as FleetOrder);
}

/** The filters by grains; several values of one grain are alternatives. */
function grainsOf({
  version = [],
  os = [],
  grain = [],
}: MinionsFilter): NonNullable<FleetQuery['grains']> {
  const wanted = new Map<string, string[]>();
  const add = (name: string, text: string): void => {
    wanted.set(name, [...(wanted.get(name) ?? []), text]);
  };
  for (const text of [version].flat()) add('saltversion', text);
  for (const text of [os].flat()) add('os', text);
  for (const pair of [grain].flat()) {
    const colon = pair.indexOf(':');
    add(pair.slice(0, colon), pair.slice(colon + 1));
  }
  return [...wanted].map(([name, texts]) => ({ name, texts }));
}

/** @throws RefusedRequest for a cursor of another order, or a forged one */
function afterOf(cursor: string, sort: string, order: FleetOrder): FleetPlace {
  const kind = typeof order === 'object' ? 'string' : 'number';
  const [of, value = '', id = ''] = placeOf(cursor, ['string', kind, 'string']);
  if (of !== sort) throw notOfThisList();
  return { value, id: String(id) };
}

/** Facets as answers have them. */
export function facetsShown(facets: FleetFacets): Facets {
  return facets as Facets;
}

type Facets = NonNullable<MinionsPage['facets']>;

function timeOr(seconds: number | undefined): string | null {
  return seconds === undefined ? null : timeText(seconds);
}

/** A minion as answers have it. */
export function minionShown({ seen, since, stateRun, grains, ...row }: FleetRow): MinionShown {
  const texts = LISTED_GRAINS.map((name, at) => [name, grains[at] || null]);
  return {
    id: row.id,
    key: row.key,
    hasDenied: row.hasDenied,
    present: row.present ?? null,
    since: timeOr(since),
    seen: seen === undefined ? null : { at: timeText(seen.at), by: seen.by },
    grains: Object.fromEntries(texts) as MinionShown['grains'],
    stateRun:
      stateRun === undefined
        ? null
        : {
            jid: stateRun.jid,
            at: timeText(stateRun.at),
            result: stateRun.hasFailed ? 'failed' : 'ok',
          },
  };
}
