import { mayRead, type Reader } from '@brine/acl';
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
import { callerAgain } from '../caller.ts';
import { cursorOf, placeOf } from '../cursor.ts';
import type { V1Parts } from '../parts.ts';
import { RefusedRequest } from '../problem.ts';
import { problems } from '../schemas.ts';
import { plain } from '../values.ts';
import { inPlace } from '../who.ts';

const tags = ['site'];
const RIGHTS = 'A caller sees those that it may call with some arguments.';

/** `/v1/functions`: runners and wheels of Brine, with their documentation. */
export function addFunctions(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/functions',
    {
      exposeHeadRoute: true,
      schema: {
        tags,
        summary: 'Runners and wheels of Brine, with their documentation',
        description: `${RIGHTS} Functions of the site and of minions are not among them.`,
        querystring: functionsQuery,
        response: { 200: functionsSchema, ...problems('too-many', 'no-master') },
      },
    },
    (request): Promise<MasterFunctions> =>
      inPlace(request, parts.room, async () => {
        const { kind, q = '', limit, after } = request.query;
        const [kindBefore, nameBefore] = after === undefined ? [] : placeOf(after, PLACE);
        const place = after === undefined ? '' : `${kindBefore} ${nameBefore}`;
        const { reader } = await callerAgain(request, parts);
        const left = (await allFunctions()).filter(
          (one) =>
            (kind === undefined || one.kind === kind) &&
            one.name.includes(q) &&
            placeIn(one) > place &&
            maySee(reader, one),
        );
        const items = left.slice(0, limit);
        const last = left.length > limit ? items.at(-1) : undefined;
        return { items, next: last === undefined ? null : cursorOf([last.kind, last.name]) };
      }),
  );
  app.get(
    '/functions/:kind/:name',
    {
      exposeHeadRoute: true,
      schema: {
        tags,
        summary: 'A runner or wheel of Brine',
        description: RIGHTS,
        params: functionParams,
        querystring: noQuery,
        response: { 200: functionSchema, ...problems('not-found', 'too-many', 'no-master') },
      },
    },
    (request): Promise<MasterFunction> =>
      inPlace(request, parts.room, async () => {
        const { kind, name } = request.params;
        const { reader } = await callerAgain(request, parts);
        const all = await allFunctions();
        const found = all.find((one) => one.kind === kind && one.name === name);
        if (found === undefined || !maySee(reader, found)) throw new RefusedRequest('not-found');
        return found;
      }),
  );
}

const PLACE = ['string', 'string'] as const;

function placeIn({ kind, name }: MasterFunction): string {
  return `${kind} ${name}`;
}

function maySee(reader: Reader, { kind: of, name: fun }: MasterFunction): boolean {
  return mayRead(reader, { kind: 'function', of, fun });
}

let known: readonly MasterFunction[] | undefined;

/** The table of the master, in the order of pages. It is loaded when it is first needed. */
async function allFunctions(): Promise<readonly MasterFunction[]> {
  if (known !== undefined) return known;
  const { RUNNERS, WHEELS } = await import('@brine/runners');
  const tables = [
    { kind: 'runner', table: RUNNERS },
    { kind: 'wheel', table: WHEELS },
  ] as const;
  const all = tables.flatMap(({ kind, table }) =>
    [...table.values()].map(({ name, parameters, open = null, doc }): MasterFunction => {
      const shown = parameters.map(([one, preset]) => ({
        name: one,
        required: preset === undefined,
        default: preset === undefined ? null : plain(preset),
      }));
      return { kind, name, parameters: shown, open, doc };
    }),
  );
  known = all.sort((a, b) => (placeIn(a) < placeIn(b) ? -1 : 1));
  return known;
}
