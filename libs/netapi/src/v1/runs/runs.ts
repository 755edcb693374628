import { noQuery, timeText } from '@brine/api';
import { begunJobSchema, jobParams } from '@brine/api/jobs';
import {
  newRunSchema,
  type RunDetail,
  runSchema,
  type RunsPage,
  runsQuery,
  runsSchema,
  type RunStep,
} from '@brine/api/runs';
import type { DescribedApp } from '@brine/http';
import { isJid } from '@brine/job';
import {
  isMap,
  listOf,
  mapIn,
  mapOf,
  SaltFloat,
  type SaltMap,
  type SaltValue,
  textOf,
} from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { addressOfWork, readAs } from '../asking.ts';
import type { V1Parts } from '../parts.ts';
import { problems } from '../schemas.ts';
import { momentsOf } from '../time-or-age.ts';
import { nextOf, placeIn, plain, timeIn } from '../values.ts';
import { beginRun, RUN_CODES } from './begin-run.ts';

const tags = ['runs'];
const RIGHTS = 'A caller sees its own runs, and those of functions that it may call itself.';

/** `/v1/runs`: runners, wheels and orchestrations. */
export function addRuns(app: DescribedApp, parts: V1Parts): void {
  addNewRun(app, parts);
  app.get(
    '/runs',
    {
      exposeHeadRoute: true,
      schema: {
        tags,
        summary: 'Runs of runners and wheels, newest first',
        description:
          `${RIGHTS} With a rule about arguments the list has its own alone. The job cache keeps ` +
          'no runs of `jobs.*`, `auth.*` and `key.gen*` that have ended. A page may be short or ' +
          'empty; its `next` continues.',
        querystring: runsQuery,
        response: { 200: runsSchema, ...problems('too-many', 'no-master') },
      },
    },
    async (request): Promise<RunsPage> => {
      const { after, from, to, ...conditions } = request.query;
      const page = await readAs(request, parts, 'runs', {
        ...conditions,
        before: placeIn(after),
        ...momentsOf({ from, to }, ['from', 'to']),
      });
      return { items: (listOf(page, 'runs') ?? []).filter(isMap).map(lineOf), ...nextOf(page) };
    },
  );
  app.get(
    '/runs/:jid',
    {
      exposeHeadRoute: true,
      schema: {
        tags,
        summary: 'A run, with its steps or its result',
        description: RIGHTS,
        params: jobParams,
        querystring: noQuery,
        response: { 200: runSchema, ...problems('not-found', 'too-many', 'no-master') },
      },
    },
    async (request): Promise<RunDetail> =>
      detailOf(await readAs(request, parts, 'run', { jid: request.params.jid })),
  );
}

function addNewRun(app: DescribedApp, parts: V1Parts): void {
  app.post(
    '/runs',
    {
      schema: {
        tags,
        summary: 'Run a runner or a wheel',
        description:
          'With the rights of the caller. With a header `Idempotency-Key` the same request may ' +
          'be sent again for a day, to any replica: it is one run. `netapi_enable_clients` needs ' +
          'the client or its `_async`.',
        body: newRunSchema,
        response: { 202: begunJobSchema, ...problems(...RUN_CODES) },
      },
    },
    async (request, reply) => {
      const { jid } = await beginRun(request, parts, request.body);
      return reply
        .code(202)
        .header('Location', addressOfWork(request, 'runs', jid))
        .send({ jid });
    },
  );
}

const STATES = ['waiting', 'running', 'ended'] as const;

function lineOf(run: SaltMap): RunsPage['items'][number] {
  const success = run.get('success');
  return {
    jid: textOf(run, 'jid') ?? '',
    client: run.get('client') === 'wheel' ? 'wheel' : 'runner',
    fun: textOf(run, 'fun') ?? '',
    user: textOf(run, 'user') ?? '',
    state: STATES.find((one) => one === run.get('state')) ?? 'ended',
    ...(typeof success === 'boolean' ? { success } : {}),
  };
}

function detailOf(run: SaltMap): RunDetail {
  const [event, ended] = [mapIn(run, 'event'), timeIn(run, 'ended')];
  const [steps, begun] = [mapIn(run, 'steps'), mapIn(run, 'begun')];
  const retcode = event?.get('retcode');
  return {
    ...lineOf(run),
    arg: plain(listOf(run, 'args') ?? []) as unknown[],
    kwarg: plain(mapIn(run, 'kwargs') ?? mapOf({})) as Record<string, unknown>,
    ...(steps === undefined && begun === undefined ? {} : { steps: stepsOf(steps, begun) }),
    ...(event === undefined ? {} : { result: plain(event.get('return') ?? null) }),
    ...(typeof retcode === 'number' ? { retcode } : {}),
    ...(ended === null ? {} : { ended }),
  };
}

function stepsOf(done: SaltMap | undefined, begun: SaltMap | undefined): RunStep[] {
  return [
    ...[...(done ?? [])].map(([step, one]) => doneStep(pyStr(step), isMap(one) ? one : mapOf({}))),
    ...[...(begun ?? [])].map(([step, note]) => ({
      step: pyStr(step),
      state: 'running' as const,
      ...jidIn(isMap(note) ? note : undefined, 'jid'),
    })),
  ];
}

function doneStep(step: string, done: SaltMap): RunStep {
  const result = mapIn(done, 'ret')?.get('result') ?? null;
  const [began, ended] = [momentOf(done.get('start')), momentOf(done.get('end'))];
  return {
    step,
    state: 'ended',
    result: typeof result === 'boolean' ? result : null,
    ...(began === undefined ? {} : { began }),
    ...(ended === undefined ? {} : { ended }),
    ...jidIn(mapIn(done, 'ret'), '__jid__'),
  };
}

function jidIn(map: SaltMap | undefined, name: string): { readonly jid?: string } {
  const jid = map && textOf(map, name);
  return jid === undefined || !isJid(jid) ? {} : { jid };
}

function momentOf(value: SaltValue | undefined): string | undefined {
  const ms = value instanceof SaltFloat ? value.value : value;
  return typeof ms === 'number' && ms > 0 ? timeText(ms / 1_000) : undefined;
}
