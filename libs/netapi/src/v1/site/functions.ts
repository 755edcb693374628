import { noQuery } from '@brine/api';
import {
  functionParams,
  functionSchema,
  functionsQuery,
  functionsSchema,
  type MasterFunction,
  type MasterFunctions,
} from '@brine/api/site';
import type { DescribedApp } from '@brine/http';
import { boolOf, isMap, listOf, type SaltMap, textOf } from '@brine/wire';
import { readAs } from '../asking.ts';
import type { V1Parts } from '../parts.ts';
import { problems } from '../schemas.ts';
import { nextOf, placeIn } from '../values.ts';

const tags = ['site'];
const RIGHTS = 'A caller sees those that it may call somewhere, with some arguments.';

/** `/v1/functions`: functions of the master and of minions, with their documentation. */
export function addFunctions(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/functions',
    {
      exposeHeadRoute: true,
      schema: {
        tags,
        summary: 'Runners, wheels, modules and states, with their documentation',
        description:
          `${RIGHTS} Modules and states are those of one minion of the newest release, which is ` +
          'asked in the background, at most once an hour; a page may be short.',
        querystring: functionsQuery,
        response: { 200: functionsSchema, ...problems('too-many', 'no-master') },
      },
    },
    async (request): Promise<MasterFunctions> => {
      const { kind, q, limit, after } = request.query;
      const asked = { kind, q, limit, after: placeIn(after) };
      const page = await readAs(request, parts, 'functions', asked);
      const items = (listOf(page, 'functions') ?? []).filter(isMap);
      return {
        items: items.map(shown),
        ...nextOf(page),
        complete: boolOf(page, 'complete') === true,
      };
    },
  );
  app.get(
    '/functions/:kind/:name',
    {
      exposeHeadRoute: true,
      schema: {
        tags,
        summary: 'A runner, wheel, module or state',
        description: RIGHTS,
        params: functionParams,
        querystring: noQuery,
        response: { 200: functionSchema, ...problems('not-found', 'too-many', 'no-master') },
      },
    },
    async (request): Promise<MasterFunction> => {
      const { kind, name } = request.params;
      return shown(await readAs(request, parts, 'function', { kind, name }));
    },
  );
}

/** A row of a worker; its texts may be of a hostile minion, with any characters. */
function shown(row: SaltMap): MasterFunction {
  const text = (name: string): string => textOf(row, name) ?? '';
  return {
    kind: text('kind') as MasterFunction['kind'],
    name: text('name'),
    parameters: (listOf(row, 'parameters') ?? []).filter(isMap).map((one) => ({
      name: textOf(one, 'name') ?? '',
      required: boolOf(one, 'required') === true,
      default: textOf(one, 'default') ?? null,
    })),
    open: (textOf(row, 'open') ?? null) as MasterFunction['open'],
    doc: text('doc'),
    source: text('source'),
  };
}
