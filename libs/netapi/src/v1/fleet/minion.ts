import { mayRead, partJudge } from '@brine/acl';
import { noQuery, timeText } from '@brine/api';
import {
  grainsSchema,
  type MinionDetail,
  minionDetailSchema,
  minionParams,
} from '@brine/api/fleet';
import type { DescribedApp } from '@brine/http';
import { toJson } from '@brine/wire/text';
import type { V1Parts } from '../parts.ts';
import { RefusedRequest } from '../problem.ts';
import { problems } from '../schemas.ts';
import { inPlace } from '../who.ts';
import { type FleetView, fleetView } from './fleet-view.ts';
import { minionShown } from './minion-rows.ts';

const tags = ['minions'];
const codes = ['not-found', 'too-many', 'no-master'] as const;

/** `/v1/minions/{id}`: one minion, and its grains. */
export function addMinion(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/minions/:id',
    {
      exposeHeadRoute: true,
      schema: {
        tags,
        summary: 'One minion',
        params: minionParams,
        querystring: noQuery,
        response: { 200: minionDetailSchema, ...problems(...codes) },
      },
    },
    (request): Promise<MinionDetail> =>
      inPlace(request, parts.room, async () => {
        const { id } = request.params;
        const view = await fleetView(request, parts);
        const row = seenRow(view, id);
        const shown = minionShown(view.index.read(row, view.sight.partsOf(row)));
        const seesKeys = mayRead(view.reader, { kind: 'keys' });
        const [key] = seesKeys ? await parts.records.keys([id]) : [];
        const keyChanged = key?.at === undefined ? null : timeText(key.at);
        return { ...shown, keyChanged, asOf: view.asOf };
      }),
  );
  app.get(
    '/minions/:id/grains',
    {
      exposeHeadRoute: true,
      schema: {
        tags,
        summary: 'The grains of a minion, as it sent them last',
        description: 'For a caller that may run `grains.items` there.',
        params: minionParams,
        querystring: noQuery,
        response: { 200: grainsSchema, ...problems('forbidden', ...codes) },
      },
    },
    (request, reply) =>
      inPlace(request, parts.room, async () => {
        const { id } = request.params;
        const view = await fleetView(request, parts);
        seenRow(view, id);
        if (!partJudge(view.reader, 'grains')(id)) throw new RefusedRequest('forbidden');
        const stored = await parts.records.grains(id);
        const { grains, updatedMs } = stored ?? {};
        const updated = updatedMs === undefined ? null : timeText(updatedMs / 1_000);
        const json = grains === undefined ? 'null' : toJson(grains).json;
        const text = `{"grains":${json},"updated":${JSON.stringify(updated)}}`;
        return reply
          .type('application/json; charset=utf-8')
          .serializer(String)
          .send(text as never);
      }),
  );
}

/** The row of a minion. @throws RefusedRequest for one that the caller may not see, as for none */
export function seenRow({ index, sight }: FleetView, id: string): number {
  const row = index.find(id);
  if (row === undefined || !sight.sees(row)) throw new RefusedRequest('not-found');
  return row;
}
