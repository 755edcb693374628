import { type MinionsPage, type MinionsQuery, minionsQuery, minionsSchema } from '@brine/api/fleet';
import { type FleetOrder, type FleetPlace, type FleetQuery, pageOf } from '@brine/fleet';
import type { DescribedApp } from '@brine/http';
import { cursorOf, notOfThisList, placeOf } from '../cursor.ts';
import type { V1Parts } from '../parts.ts';
import { RefusedRequest } from '../problem.ts';
import { problems } from '../schemas.ts';
import { inPlace } from '../who.ts';
import { fleetView } from './fleet-view.ts';
import { facetsShown, fleetQuery, minionShown } from './minion-rows.ts';

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
  const { sort, limit, after, offset = 0 } = asked;
  const query = fleetQuery(asked, Date.now());
  if (after === undefined) return { ...query, limit, first: offset };
  if (asked.offset !== undefined) {
    throw new RefusedRequest('bad-request', 'after, offset: a page begins at one place');
  }
  return { ...query, limit, after: afterOf(after, sort, query.order) };
}

/** @throws RefusedRequest for a cursor of another order, or a forged one */
function afterOf(cursor: string, sort: string, order: FleetOrder): FleetPlace {
  const kind = typeof order === 'object' ? 'string' : 'number';
  const [of, value = '', id = ''] = placeOf(cursor, ['string', kind, 'string']);
  if (of !== sort) throw notOfThisList();
  return { value, id: String(id) };
}
