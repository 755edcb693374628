import { begunJobSchema, jobParams, rerunSchema, signalSchema } from '@brine/api/jobs';
import type { DescribedApp, HttpRequest } from '@brine/http';
import { listOf, mapIn, mapOf, type SaltValue, textOf } from '@brine/wire';
import { addressOfWork, readAs } from '../asking.ts';
import type { V1Parts } from '../parts.ts';
import { problems } from '../schemas.ts';
import { texts } from '../values.ts';
import { type AskedCommand, publishAs } from './new-job.ts';

const tags = ['jobs'];
const response = {
  202: begunJobSchema,
  ...problems(
    'not-found',
    'forbidden',
    'changed',
    'bad-target',
    'key-in-use',
    'too-many',
    'no-master',
  ),
};

/** `POST /v1/jobs/{jid}/rerun` and `/signal`: a job about a job. */
export function addReruns(app: DescribedApp, parts: V1Parts): void {
  app.post(
    '/jobs/:jid/rerun',
    {
      schema: {
        tags,
        summary: 'Run a job once more',
        description:
          'On its minions in some states. Judged as a new job. Its metadata name the first one ' +
          'under `rerun_of`. A minion whose return was lost runs it twice: ask `why` first.',
        params: jobParams,
        body: rerunSchema,
        response,
      },
    },
    async (request, reply) => {
      const { states, expect } = request.body;
      const { minions, ...first } = await read(request, parts, { jid: request.params.jid, states });
      const metadata = new Map<SaltValue, SaltValue>([
        ...first.metadata,
        ['rerun_of', request.params.jid],
      ]);
      const command = { ...first, tgt: minions, tgtType: 'list', metadata, expect };
      const { jid } = await publishAs(request, parts, command);
      return reply
        .code(202)
        .header('Location', addressOfWork(request, 'jobs', jid))
        .send({ jid });
    },
  );
  app.post(
    '/jobs/:jid/signal',
    {
      schema: {
        tags,
        summary: 'End a job on its minions',
        description:
          'On those that have not returned: `saltutil.term_job` or `saltutil.kill_job`, with the ' +
          'right to run it there.',
        params: jobParams,
        body: signalSchema,
        response,
      },
    },
    async (request, reply) => {
      const { act, expect } = request.body;
      const { minions } = await read(request, parts, {
        jid: request.params.jid,
        states: ['waiting', 'never'],
      });
      const command = {
        tgt: minions,
        tgtType: 'list',
        fun: `saltutil.${act}_job`,
        arg: [request.params.jid],
        ret: '',
        metadata: mapOf({}),
        expect,
      };
      const { jid } = await publishAs(request, parts, command);
      return reply
        .code(202)
        .header('Location', addressOfWork(request, 'jobs', jid))
        .send({ jid });
    },
  );
}

/** A job that is run once more, and its minions in some states. @throws RefusedRequest */
async function read(
  request: HttpRequest,
  parts: V1Parts,
  { jid, states }: { readonly jid: string; readonly states: readonly string[] },
): Promise<
  Pick<AskedCommand, 'fun' | 'arg' | 'ret' | 'metadata'> & { readonly minions: readonly string[] }
> {
  const found = await readAs(request, parts, 'job_again', { jid, states: [...states] });
  const minions = texts(listOf(found, 'minions'));
  return {
    fun: textOf(found, 'fun') ?? texts(listOf(found, 'fun')),
    arg: listOf(found, 'arg') ?? [],
    ret: textOf(found, 'ret') ?? '',
    metadata: mapIn(found, 'metadata') ?? mapOf({}),
    // A request that comes again is answered although none is left.
    minions: minions.length === 0 ? [''] : minions,
  };
}
