import { type Nodegroups, nodegroupsQuery, nodegroupsSchema } from '@brine/api/site';
import type { DescribedApp } from '@brine/http';
import { isMap, listOf, textOf } from '@brine/wire';
import { readAs } from '../asking.ts';
import type { V1Parts } from '../parts.ts';
import { problems } from '../schemas.ts';
import { nextOf, numberIn, placeIn } from '../values.ts';

/** `/v1/nodegroups`: named targets, and how many minions each has. */
export function addNodegroups(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/nodegroups',
    {
      exposeHeadRoute: true,
      schema: {
        tags: ['site'],
        summary: 'Nodegroups, and how many minions each has now',
        description:
          'With the right to the wheel `config.values` all of them; others see those that their ' +
          'rights have as a target (`N@name`).',
        querystring: nodegroupsQuery,
        response: { 200: nodegroupsSchema, ...problems('too-many', 'no-master') },
      },
    },
    async (request): Promise<Nodegroups> => {
      const { limit, after } = request.query;
      const page = await readAs(request, parts, 'nodegroups', { limit, after: placeIn(after) });
      const items = (listOf(page, 'groups') ?? []).filter(isMap).map((one) => ({
        name: textOf(one, 'name') ?? '',
        expression: textOf(one, 'expression') ?? null,
        count: numberIn(one, 'count'),
      }));
      return { items, ...nextOf(page) };
    },
  );
}
