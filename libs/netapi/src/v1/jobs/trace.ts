import { traceParams, traceSchema } from '@brine/api/jobs';
import type { DescribedApp } from '@brine/http';
import { type PlaceLimits, Places } from '../../places.ts';
import { readAs } from '../asking.ts';
import { callerOf } from '../caller.ts';
import type { V1Parts } from '../parts.ts';
import { RefusedRequest } from '../problem.ts';
import { problems } from '../schemas.ts';
import { inPlace } from '../who.ts';

/** Traces that are read at a time: each reads up to 128 MiB of files. */
const TRACE_PLACES: PlaceLimits = { all: 2, ofOne: 1, text: '', retryAfterS: 1 };

/** `/v1/jobs/{jid}/trace`: the way of a job through the services. */
export function addTrace(app: DescribedApp, parts: V1Parts): void {
  const room = new Places(TRACE_PLACES);
  app.get(
    '/jobs/:jid/trace',
    {
      exposeHeadRoute: true,
      schema: {
        tags: ['jobs'],
        summary: 'The trace of a job',
        description:
          'From the trace files of the host of this service. For a caller that sees the whole ' +
          'job; with all rights also of runs of runners and wheels.',
        params: traceParams,
        response: {
          200: traceSchema,
          ...problems('forbidden', 'not-found', 'too-many', 'no-master'),
        },
      },
    },
    async (request) => {
      const { jid } = request.params;
      const { reader } = await inPlace(request, parts.room, () => callerOf(request, parts));
      if (reader.acl !== undefined) {
        const job = await readAs(request, parts, 'job', { jid });
        // Its spans name minions that this caller may not see.
        if (job.get('isPart') === true) throw new RefusedRequest('forbidden');
      }
      const trace = await inPlace(request, room, () => parts.readTrace(jid));
      return { ...trace, roots: [...trace.roots] };
    },
  );
}
