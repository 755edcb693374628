import {
  jobParams,
  type JobStates,
  jobStatesQuery,
  jobStatesSchema,
  type JobTimeline,
  jobTimelineQuery,
  jobTimelineSchema,
  type Silences,
  silencesQuery,
  silencesSchema,
} from '@brine/api/jobs';
import type { DescribedApp } from '@brine/http';
import { isMap, listOf, mapIn, textOf } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { readAs } from '../asking.ts';
import type { V1Parts } from '../parts.ts';
import { nextOf, numberIn, placeIn, timeIn } from '../values.ts';
import { asOne, RIGHTS } from './jobs.ts';

const tags = ['jobs'];

/** `/v1/jobs/{jid}/states`, `/timeline`, `/why`: how a job went. */
export function addJobCourse(app: DescribedApp, parts: V1Parts): void {
  addStates(app, parts);
  addTimeline(app, parts);
  addSilences(app, parts);
}

function addStates(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/jobs/:jid/states',
    {
      exposeHeadRoute: true,
      schema: {
        tags,
        summary: 'What the states of a job came to',
        description: `Those with failures first, then those with changes. ${RIGHTS}`,
        params: jobParams,
        querystring: jobStatesQuery,
        response: { 200: jobStatesSchema, ...asOne },
      },
    },
    async (request): Promise<JobStates> => {
      const { jid } = request.params;
      const found = await readAs(request, parts, 'job_states', { jid, ...request.query });
      const items = (listOf(found, 'states') ?? []).filter(isMap).map((one) => ({
        id: textOf(one, 'id') ?? '',
        ok: numberIn(one, 'ok') ?? 0,
        changed: numberIn(one, 'changed') ?? 0,
        failed: numberIn(one, 'failed') ?? 0,
        would: numberIn(one, 'would') ?? 0,
        slowestMs: numberIn(one, 'slowestMs') ?? 0,
        slowest: textOf(one, 'slowest') ?? '',
      }));
      const [more, minions] = ['more', 'minions'].map((name) => numberIn(found, name) ?? 0);
      return {
        items,
        more: more ?? 0,
        minions: minions ?? 0,
        whole: found.get('isWhole') === true,
      };
    },
  );
}

function addTimeline(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/jobs/:jid/timeline',
    {
      exposeHeadRoute: true,
      schema: {
        tags,
        summary: 'When the returns of a job came',
        description: `Parts of one length, from the publication to the last return. ${RIGHTS}`,
        params: jobParams,
        querystring: jobTimelineQuery,
        response: { 200: jobTimelineSchema, ...asOne },
      },
    },
    async (request): Promise<JobTimeline> => {
      const { jid } = request.params;
      const found = await readAs(request, parts, 'job_timeline', { jid, ...request.query });
      const items = (listOf(found, 'bins') ?? []).map((bin) => {
        const [ok, failed] = Array.isArray(bin) ? bin : [];
        return { ok: Number(ok ?? 0), failed: Number(failed ?? 0) };
      });
      return { from: timeIn(found, 'from'), to: timeIn(found, 'to'), items };
    },
  );
}

function addSilences(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/jobs/:jid/why',
    {
      exposeHeadRoute: true,
      schema: {
        tags,
        summary: 'Why minions of a job are silent',
        description: `A cause for each that has not returned in time. ${RIGHTS}`,
        params: jobParams,
        querystring: silencesQuery,
        response: { 200: silencesSchema, ...asOne },
      },
    },
    async (request): Promise<Silences> => {
      const { jid } = request.params;
      const { minion, limit, after } = request.query;
      const ids = minion === undefined ? undefined : [minion];
      const args = { jid, limit, after: placeIn(after), ids };
      const page = await readAs(request, parts, 'job_why', args);
      const items = [...(mapIn(page, 'minions') ?? [])].map(([id, why]) => ({
        id: pyStr(id),
        cause: isMap(why) ? (textOf(why, 'cause') ?? '') : '',
        text: isMap(why) ? (textOf(why, 'text') ?? '') : '',
      }));
      return { items, ...nextOf(page) };
    },
  );
}
