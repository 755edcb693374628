import {
  type MinionJobsPage,
  minionJobsPageSchema,
  minionJobsQuery,
  minionParams,
} from '@brine/api/fleet';
import type { DescribedApp } from '@brine/http';
import { isMap, listOf, textOf } from '@brine/wire';
import { readAs } from '../asking.ts';
import { stateOf } from '../jobs/job-returns.ts';
import { asOne } from '../jobs/jobs.ts';
import type { V1Parts } from '../parts.ts';
import { nextOf, numberIn, placeIn, texts, timeIn } from '../values.ts';

/** `/v1/minions/{id}/jobs`: what one minion did in each job. */
export function addMinionJobs(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/minions/:id/jobs',
    {
      exposeHeadRoute: true,
      schema: {
        tags: ['minions'],
        summary: 'The part of a minion in each job, newest first',
        description:
          'A caller sees its own jobs, and those of others whose return of this minion it may ' +
          'read. Commands of tools are left out. A page of a rare match may be short or empty; ' +
          'its `next` continues the search.',
        params: minionParams,
        querystring: minionJobsQuery,
        response: { 200: minionJobsPageSchema, ...asOne },
      },
    },
    async (request): Promise<MinionJobsPage> => {
      const { after, ...asked } = request.query;
      const { id } = request.params;
      const args = { id, ...asked, before: placeIn(after) };
      const page = await readAs(request, parts, 'minion_jobs', args);
      const items = (listOf(page, 'jobs') ?? []).filter(isMap).map((one) => ({
        jid: textOf(one, 'jid') ?? '',
        fun: texts(listOf(one, 'fun')),
        published: timeIn(one, 'publishedAt') ?? '',
        state: stateOf(one.get('state')),
        retcode: numberIn(one, 'retcode'),
        returned: timeIn(one, 'receivedAt'),
      }));
      return { items, ...nextOf(page) };
    },
  );
}
