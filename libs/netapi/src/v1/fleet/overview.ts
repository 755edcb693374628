import { readsAll } from '@brine/acl';
import { noQuery } from '@brine/api';
import { type Overview, overviewSchema } from '@brine/api/fleet';
import { facetsOf } from '@brine/fleet';
import type { DescribedApp } from '@brine/http';
import { isMap, listOf, mapIn, mapOf, type SaltMap, textOf } from '@brine/wire';
import { addressOf } from '../../rest-cherrypy/asked.ts';
import type { V1Parts } from '../parts.ts';
import { problems } from '../schemas.ts';
import { inPlace, whoAsks } from '../who.ts';
import { fleetView } from './fleet-view.ts';
import { facetsShown } from './minion-rows.ts';

/** `/v1/overview`: the fleet in numbers, and the services of the master. */
export function addOverview(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/overview',
    {
      exposeHeadRoute: true,
      schema: {
        tags: ['minions'],
        summary: 'The fleet in numbers, and the services of the master',
        description: 'Counts the minions that the caller may see.',
        querystring: noQuery,
        response: { 200: overviewSchema, ...problems('too-many', 'no-master') },
      },
    },
    (request): Promise<Overview> =>
      inPlace(request, parts.room, async () => {
        const { index, sight, asOf, reader } = await fleetView(request, parts);
        const { total, facets } = facetsOf(index, sight);
        const { session } = whoAsks(request);
        const services = readsAll(reader.acl)
          ? await servicesOf(parts, session.token, addressOf(request))
          : null;
        return { fleet: { total, facets: facetsShown(facets) }, services, asOf };
      }),
  );
}

/** The services that answer a roll call. */
async function servicesOf(
  { requests }: Pick<V1Parts, 'requests'>,
  token: string,
  peer: string,
): Promise<Overview['services']> {
  const load = mapOf({ cmd: 'brine_query', query: 'roll', args: mapOf({}), token });
  const answer = await requests.ask(load, { asker: `token ${peer}`, peer });
  const roll = isMap(answer) ? mapIn(answer, 'value') : undefined;
  return (roll === undefined ? [] : (listOf(roll, 'services') ?? []))
    .filter(isMap)
    .map(serviceShown)
    .sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

type Service = NonNullable<Overview['services']>[number];

function serviceShown(report: SaltMap): Service {
  const facts = mapIn(report, 'facts') ?? mapOf({});
  return {
    service: textOf(report, 'service') ?? '',
    host: textOf(facts, 'host') ?? '',
    ready: facts.get('ready') === true,
    release: textOf(facts, 'release') ?? '',
  };
}

function keyOf({ host, service }: Service): string {
  return `${host}\0${service}`;
}
