import {
  type DriftPage,
  driftPageSchema,
  type DriftQuery,
  driftQuery,
  type DriftShown,
} from '@brine/api/fleet';
import { type FleetOrder, type FleetQuery, type FleetRow, pageOf } from '@brine/fleet';
import type { DescribedApp } from '@brine/http';
import { cursorOf, notOfThisList, placeOf } from '../cursor.ts';
import type { V1Parts } from '../parts.ts';
import { problems } from '../schemas.ts';
import { inPlace } from '../who.ts';
import { fleetView } from './fleet-view.ts';
import { runShown } from './minion-rows.ts';

/** `/v1/drift`: which minions are as their states want them, as far as runs show. */
export function addDrift(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/drift',
    {
      exposeHeadRoute: true,
      schema: {
        tags: ['minions'],
        summary: 'How minions stand to their states, by their last runs',
        description:
          'Has the accepted minions that some right of the caller may target; all of them with ' +
          'the right to the wheel `key.list_all`. Runs are shown where it may run states, or ' +
          'with the right to all jobs. No minion is asked.',
        querystring: driftQuery,
        response: { 200: driftPageSchema, ...problems('too-many', 'no-master') },
      },
    },
    async (request): Promise<DriftPage> => {
      const query = queryOf(request.query);
      return inPlace(request, parts.room, async () => {
        const { index, sight, asOf } = await fleetView(request, parts);
        const { rows, total, next, facets } = pageOf(index, sight, query);
        const nowS = Date.now() / 1_000;
        return {
          items: rows.map((row) => driftShown(row, nowS)),
          total,
          ...(facets === undefined ? {} : { facets: { state: facets.drift } }),
          asOf,
          next: next === undefined ? null : cursorOf([request.query.sort, next.value, next.id]),
        };
      });
    },
  );
}

/** @throws RefusedRequest for a cursor of another order, or a forged one */
function queryOf({ q, state, sort, facets, limit, after }: DriftQuery): FleetQuery {
  const [of, value = '', id = ''] =
    after === undefined ? [sort] : placeOf(after, ['string', 'number', 'string']);
  if (of !== sort) throw notOfThisList();
  return {
    id: q,
    keys: ['accepted'],
    drifts: state === undefined ? undefined : [state].flat(),
    order: sort.replace(/^-/, '') as FleetOrder,
    isDown: sort.startsWith('-'),
    limit,
    after: after === undefined ? undefined : { value, id: String(id) },
    withFacets: facets === 'true',
  };
}

function driftShown({ id, drift, stateRun, testRun }: FleetRow, nowS: number): DriftShown {
  const newest = Math.max(stateRun?.at ?? 0, testRun?.at ?? 0);
  const shown = runShown(testRun);
  return {
    id,
    state: drift,
    stateRun: runShown(stateRun),
    testRun: shown && { ...shown, would: testRun?.would ?? null },
    age: newest === 0 ? null : Math.max(0, Math.round(nowS - newest)),
  };
}
