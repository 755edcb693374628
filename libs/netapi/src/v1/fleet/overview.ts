import { noQuery } from '@brine/api';
import { type Overview, overviewSchema } from '@brine/api/fleet';
import { facetsOf } from '@brine/fleet';
import type { DescribedApp } from '@brine/http';
import { type ClusterService, troubleOf } from '@brine/operations/roll';
import type { V1Parts } from '../parts.ts';
import { problems } from '../schemas.ts';
import { clusterFor } from '../site/services.ts';
import { inPlace } from '../who.ts';
import { fleetView } from './fleet-view.ts';
import { jobNumbers } from './job-numbers.ts';
import { facetsShown } from './minion-rows.ts';

/** `/v1/overview`: the fleet and its jobs in numbers, and the services of the master. */
export function addOverview(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/overview',
    {
      exposeHeadRoute: true,
      schema: {
        tags: ['minions'],
        summary: 'The fleet and its jobs in numbers, and the services of the master',
        description: 'Counts the minions and jobs that the caller may see.',
        querystring: noQuery,
        response: { 200: overviewSchema, ...problems('too-many', 'no-master') },
      },
    },
    (request): Promise<Overview> =>
      inPlace(request, parts.room, async () => {
        const { index, sight, asOf, reader } = await fleetView(request, parts);
        const { total, facets } = facetsOf(index, sight);
        const [cluster, jobs] = await Promise.all([
          clusterFor(request, parts, reader),
          jobNumbers(request, parts),
        ]);
        return {
          fleet: { total, facets: facetsShown(facets) },
          jobs,
          services: cluster?.services.map(serviceShown) ?? null,
          trouble: cluster === undefined ? null : [...troubleOf(cluster)],
          asOf,
        };
      }),
  );
}

type Service = NonNullable<Overview['services']>[number];

function serviceShown({ service, host, ready, release }: ClusterService): Service {
  return { service, host, ready, release };
}
