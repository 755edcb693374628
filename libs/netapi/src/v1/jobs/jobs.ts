import {
  type Job,
  type JobLine,
  jobParams,
  jobQuery,
  jobSchema,
  type JobsPage,
  jobsPageSchema,
  jobsQuery,
  type Ledger,
  LEDGER_STATES,
} from '@brine/api/jobs';
import type { DescribedApp } from '@brine/http';
import { STORED_ORIGINS } from '@brine/job';
import { isMap, listOf, mapIn, mapOf, type SaltMap, textOf } from '@brine/wire';
import { metadataOf } from '@brine/wire/load';
import { readAs } from '../asking.ts';
import type { V1Parts } from '../parts.ts';
import { problems } from '../schemas.ts';
import { momentsOf } from '../time-or-age.ts';
import { nextOf, placeIn, plain, textIn, texts, timeIn } from '../values.ts';

const tags = ['jobs'];
/** Who sees what of a job. */
export const RIGHTS =
  'A caller sees its own jobs; all of them with the right to `jobs.list_job`; of others what is ' +
  'given by minions on which it could run the same.';
const asPage = problems('too-many', 'no-master');
export const asOne = problems('not-found', 'too-many', 'no-master');

/** `/v1/jobs`: jobs with their counts. */
export function addJobs(app: DescribedApp, parts: V1Parts): void {
  addJobList(app, parts);
  addJob(app, parts);
}

function addJobList(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/jobs',
    {
      exposeHeadRoute: true,
      schema: {
        tags,
        summary: 'Jobs, newest first',
        description:
          'A caller with the right to `jobs.list_job` sees all, others their own. A page of a ' +
          'rare match may be short or empty; its `next` continues the search.',
        querystring: jobsQuery,
        response: { 200: jobsPageSchema, ...asPage },
      },
    },
    async (request): Promise<JobsPage> => {
      const { after, from, to, ...conditions } = request.query;
      const page = await readAs(request, parts, 'jobs', {
        ...conditions,
        before: placeIn(after),
        ...momentsOf({ from, to }, ['from', 'to']),
      });
      return { items: (listOf(page, 'jobs') ?? []).filter(isMap).map(lineOf), ...nextOf(page) };
    },
  );
}

function addJob(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/jobs/:jid',
    {
      exposeHeadRoute: true,
      schema: {
        tags,
        summary: 'A job',
        description: RIGHTS,
        params: jobParams,
        querystring: jobQuery,
        response: { 200: jobSchema, ...asOne },
      },
    },
    async (request): Promise<Job> => {
      const found = await readAs(request, parts, 'job', {
        jid: request.params.jid,
        ...momentsOf(request.query, ['at']),
      });
      const load = mapIn(found, 'load') ?? mapOf({});
      const metadata = metadataOf(load);
      return {
        ...lineOf(found),
        arg: plain(listOf(load, 'arg') ?? []) as unknown[],
        ...(metadata === undefined ? {} : { metadata: plain(metadata) }),
        ...(found.get('isPart') === true ? { part: true } : {}),
      };
    },
  );
}

function lineOf(row: SaltMap): JobLine {
  const tgt = listOf(row, 'tgt');
  const hidden = row.get('hidden');
  const origin = STORED_ORIGINS.find((one) => one === row.get('origin'));
  return {
    jid: textOf(row, 'jid') ?? '',
    fun: texts(listOf(row, 'fun')),
    ...(tgt === undefined ? {} : { tgt: texts(tgt) }),
    ...textIn(row, 'tgtType'),
    ...textIn(row, 'user'),
    ...textIn(row, 'principal'),
    ...(origin === undefined ? {} : { origin }),
    ...(typeof hidden === 'boolean' ? { hidden } : {}),
    published: timeIn(row, 'publishedAt') ?? '',
    deadline: timeIn(row, 'deadlineAt'),
    counts: countsOf(mapIn(row, 'ledger') ?? mapOf({})),
  };
}

function countsOf(ledger: SaltMap): Ledger {
  const counts = ['targeted', ...LEDGER_STATES, 'unexpected'].map((name) => [
    name,
    Number(ledger.get(name) ?? 0),
  ]);
  return Object.fromEntries(counts) as Ledger;
}
