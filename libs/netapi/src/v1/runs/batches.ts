import { noQuery, timeText } from '@brine/api';
import { begunJobSchema, jobParams } from '@brine/api/jobs';
import {
  type BatchDetail,
  batchesQuery,
  batchesSchema,
  type BatchesShown,
  batchSchema,
  stopSchema,
} from '@brine/api/runs';
import type { DescribedApp, HttpRequest } from '@brine/http';
import { isMap, listOf, mapIn, SaltFloat, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { readAs } from '../asking.ts';
import type { V1Parts } from '../parts.ts';
import { RefusedRequest } from '../problem.ts';
import { problems } from '../schemas.ts';
import { nextOf, numberIn, placeIn, texts } from '../values.ts';
import { CALL_CODES, callRunner } from './call-runner.ts';

const tags = ['batches'];
/** Minions of each list. */
const SHOWN_MAX = 1_000;

/** `/v1/batches`: jobs that run on some minions at a time. */
export function addBatches(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/batches',
    {
      exposeHeadRoute: true,
      schema: {
        tags,
        summary: 'Batches, newest first',
        description:
          'Its own; with the runner `batch.list_active` all that run, up to 256 at a time; with ' +
          '`batch.status` all that have ended. Those are known for seven days, the newest 1,000. ' +
          'A page may be short or empty; its `next` continues.',
        querystring: batchesQuery,
        response: { 200: batchesSchema, ...problems('too-many', 'no-master') },
      },
    },
    async (request): Promise<BatchesShown> => {
      const { after, ...asked } = request.query;
      const found = await readAs(request, parts, 'batches', { ...asked, before: placeIn(after) });
      return {
        items: (listOf(found, 'batches') ?? []).filter(isMap).map(lineOf),
        ...nextOf(found),
      };
    },
  );
  app.get(
    '/batches/:jid',
    {
      exposeHeadRoute: true,
      schema: {
        tags,
        summary: 'A batch',
        description:
          'Its own, and with the runner `batch.status` any. One that has ended is known for ' +
          'seven days.',
        params: jobParams,
        querystring: noQuery,
        response: { 200: batchSchema, ...problems('not-found', 'too-many', 'no-master') },
      },
    },
    async (request): Promise<BatchDetail> =>
      detailOf(await readAs(request, parts, 'batch', { jid: request.params.jid })),
  );
  addActs(app, parts);
}

const ACTS = [
  ['pause', 'Let no further minion begin'],
  ['resume', 'Let further minions begin again'],
] as const;
const response = { 202: begunJobSchema, ...problems('not-found', ...CALL_CODES) };

function addActs(app: DescribedApp, parts: V1Parts): void {
  for (const [act, summary] of ACTS) {
    const schema = { tags, summary, description: rightOf(act), params: jobParams, response };
    app.post(`/batches/:jid/${act}`, { schema }, async (request, reply) => {
      const { jid } = request.params;
      await send(request, parts, `batch.${act}`, { jid });
      return reply.code(202).send({ jid });
    });
  }
  app.post(
    '/batches/:jid/stop',
    {
      schema: {
        tags,
        summary: 'Stop a batch before its end',
        description: rightOf('stop'),
        params: jobParams,
        body: stopSchema,
        response,
      },
    },
    async (request, reply) => {
      const { jid } = request.params;
      await send(request, parts, 'batch.stop', { jid, kill: request.body.kill });
      return reply.code(202).send({ jid });
    },
  );
}

const rightOf = (act: string): string => `For a caller with the runner \`batch.${act}\`.`;

/** Runs a runner that sends a message to a batch. @throws RefusedRequest */
async function send(
  request: HttpRequest,
  parts: V1Parts,
  fun: string,
  kwarg: Readonly<Record<string, SaltValue>>,
): Promise<void> {
  const isSent = await callRunner(request, parts, fun, kwarg);
  if (isSent !== true) throw new RefusedRequest('not-found', 'No such batch is running.');
}

function lineOf(batch: SaltMap): BatchesShown['items'][number] {
  const count = (name: string): number => numberIn(batch, name) ?? 0;
  const text = (name: string): string => textOf(batch, name) ?? '';
  return {
    jid: text('jid'),
    fun: texts([batch.get('fun') ?? []].flat()),
    tgt: texts([batch.get('tgt') ?? []].flat()),
    tgtType: text('tgt_type'),
    user: text('user'),
    size: count('batch_size'),
    total: count('total'),
    completed: count('completed'),
    active: count('active'),
    pending: count('pending'),
    failed: count('failed'),
    retcode: count('retcode'),
    paused: batch.get('paused') === true,
    halted: textOf(batch, 'halted_reason') ?? null,
    created: secondsIn(batch, 'created'),
    lastProgress: secondsIn(batch, 'last_progress'),
    ended: batch.get('ended') === true,
  };
}

function detailOf(batch: SaltMap): BatchDetail {
  const plan = mapIn(batch, 'plan');
  const wave = plan && mapIn(plan, 'last');
  const ids = (map: SaltMap | undefined, name: string): string[] =>
    texts(map && listOf(map, name)).slice(0, SHOWN_MAX);
  return {
    ...lineOf(batch),
    ...(plan === undefined
      ? {}
      : {
          minions: {
            active: ids(plan, 'active'),
            silent: ids(plan, 'silent'),
            wave: {
              dispatched: ids(wave, 'dispatched'),
              finished: ids(wave, 'finished'),
              silent: ids(wave, 'silent'),
            },
          },
        }),
  };
}

function secondsIn(row: SaltMap, name: string): string | null {
  const value = row.get(name);
  const seconds = value instanceof SaltFloat ? value.value : value;
  return typeof seconds === 'number' && seconds > 0 ? timeText(seconds) : null;
}
