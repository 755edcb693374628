import { mayRead, type Reader } from '@brine/acl';
import { noQuery, timeText } from '@brine/api';
import { type Services, servicesSchema } from '@brine/api/site';
import type { DescribedApp, HttpRequest } from '@brine/http';
import {
  type Cluster,
  clusterOf,
  type ClusterService,
  silentHosts,
  troubleOf,
} from '@brine/operations/roll';
import { readAs } from '../asking.ts';
import { callerAgain } from '../caller.ts';
import type { V1Parts } from '../parts.ts';
import { RefusedRequest } from '../problem.ts';
import { problems } from '../schemas.ts';
import { plain } from '../values.ts';
import { inPlace } from '../who.ts';

/** `/v1/services`: every service of every host. */
export function addServices(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/services',
    {
      exposeHeadRoute: true,
      schema: {
        tags: ['site'],
        summary: 'The services of all hosts',
        description:
          'As `brine status --all` has them. Needs the right to the runner `manage.status`.',
        querystring: noQuery,
        response: { 200: servicesSchema, ...problems('forbidden', 'too-many', 'no-master') },
      },
    },
    async (request): Promise<Services> => {
      const { reader } = await inPlace(request, parts.room, () => callerAgain(request, parts));
      const cluster = await clusterFor(request, parts, reader);
      if (cluster === undefined) throw new RefusedRequest('forbidden');
      const trouble = troubleOf(cluster);
      return {
        serving: trouble.length === 0,
        trouble: [...trouble],
        silentHosts: [...silentHosts(cluster)],
        services: cluster.services.map(serviceShown),
        leftOut: cluster.leftOut,
      };
    },
  );
}

/**
 * The services that answer now; undefined for a caller that may not see them.
 * @throws RefusedRequest, NetapiError
 */
export async function clusterFor(
  request: HttpRequest,
  parts: Pick<V1Parts, 'requests' | 'room'>,
  reader: Reader,
): Promise<Cluster | undefined> {
  if (!mayRead(reader, { kind: 'services' })) return undefined;
  try {
    return clusterOf(plain(await readAs(request, parts, 'services', {})));
  } catch (error) {
    // The right was taken away in between.
    if (error instanceof RefusedRequest && error.code === 'not-found') return undefined;
    throw error;
  }
}

function serviceShown({ startedMs, aheadMs, withinMs: _, ...one }: ClusterService) {
  return {
    ...one,
    started: startedMs === 0 ? null : timeText(startedMs / 1_000),
    aheadMs: aheadMs ?? null,
  };
}
