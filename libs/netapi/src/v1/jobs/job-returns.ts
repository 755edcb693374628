import {
  type JobGroups,
  jobGroupsQuery,
  jobGroupsSchema,
  type JobMinionsPage,
  jobMinionsPageSchema,
  jobMinionsQuery,
  jobParams,
  jobReturnParams,
  jobReturnQuery,
  jobReturnSchema,
  LEDGER_STATES,
} from '@brine/api/jobs';
import type { DescribedApp } from '@brine/http';
import { isMap, listOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { toJson } from '@brine/wire/text';
import { readAs } from '../asking.ts';
import type { V1Parts } from '../parts.ts';
import { nextOf, numberIn, placeIn, timeIn } from '../values.ts';
import { asOne, RIGHTS } from './jobs.ts';

const tags = ['jobs'];

/** `/v1/jobs/{jid}/minions`, `/returns/{id}`, `/groups`: what minions gave for a job. */
export function addReturns(app: DescribedApp, parts: V1Parts): void {
  addMinions(app, parts);
  addReturn(app, parts);
  addGroups(app, parts);
}

function addMinions(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/jobs/:jid/minions',
    {
      exposeHeadRoute: true,
      schema: {
        tags,
        summary: 'The minions of a job, by id',
        description: RIGHTS,
        params: jobParams,
        querystring: jobMinionsQuery,
        response: { 200: jobMinionsPageSchema, ...asOne },
      },
    },
    async (request): Promise<JobMinionsPage> => {
      const { jid } = request.params;
      const { after, q: part, ...asked } = request.query;
      const args = { jid, part, ...asked, after: placeIn(after) };
      const page = await readAs(request, parts, 'job_minions', args);
      const items = (listOf(page, 'minions') ?? []).filter(isMap).map((one) => ({
        id: textOf(one, 'id') ?? '',
        state: stateOf(one.get('state')),
        retcode: numberIn(one, 'retcode'),
        returned: timeIn(one, 'receivedAt'),
        unexpected: one.get('unexpected') === true,
      }));
      return { items, ...nextOf(page) };
    },
  );
}

function addReturn(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/jobs/:jid/returns/:id',
    {
      exposeHeadRoute: true,
      schema: {
        tags,
        summary: 'What a minion gave for a job',
        description: RIGHTS,
        params: jobReturnParams,
        querystring: jobReturnQuery,
        response: { 200: jobReturnSchema, ...asOne },
      },
    },
    async (request, reply) => {
      const { jid, id } = request.params;
      const found = await readAs(request, parts, 'job_return', { jid, id });
      const others = request.query.evidence === true ? (listOf(found, 'evidence') ?? []) : [];
      const evidence = others.filter(isMap).map((one) => `{${givenIn(one)}}`);
      const fields = [
        `"id":${JSON.stringify(id)}`,
        givenIn(found),
        ...(request.query.evidence === true ? [`"evidence":[${evidence.join(',')}]`] : []),
      ];
      // A return may have 50 MB: it is written once.
      const text = `{${fields.join(',')}}`;
      return reply
        .type('application/json')
        .serializer(() => text)
        .send({ id, returned: '', load: null });
    },
  );
}

function addGroups(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/jobs/:jid/groups',
    {
      exposeHeadRoute: true,
      schema: {
        tags,
        summary: 'The returns of a job by what they contain',
        description: `Failed ones first, then the smallest groups. ${RIGHTS}`,
        params: jobParams,
        querystring: jobGroupsQuery,
        response: { 200: jobGroupsSchema, ...asOne },
      },
    },
    async (request): Promise<JobGroups> => {
      const { jid } = request.params;
      const { limit, like: likeness } = request.query;
      const found = await readAs(request, parts, 'job_groups', { jid, limit, likeness });
      const items = (listOf(found, 'groups') ?? []).filter(isMap).map((one) => ({
        digest: textOf(one, 'digest') ?? '',
        size: Number(one.get('size')),
        failed: one.get('failed') === true,
        sample: textOf(one, 'sample') ?? '',
      }));
      return { items, more: numberIn(found, 'more') ?? 0, whole: found.get('isWhole') === true };
    },
  );
}

/** The state of a minion in a job. */
export function stateOf(value: SaltValue | undefined): (typeof LEDGER_STATES)[number] {
  return LEDGER_STATES.find((one) => one === value) ?? 'waiting';
}

/** The time and the load of a return, as fields of JSON. */
function givenIn(found: SaltMap): string {
  const returned = JSON.stringify(timeIn(found, 'receivedAt') ?? '');
  return `"returned":${returned},"load":${toJson(found.get('load') ?? null).json}`;
}
