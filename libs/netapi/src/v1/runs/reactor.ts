import { noQuery, timeText } from '@brine/api';
import {
  type Acted,
  actedSchema,
  failuresQuery,
  failuresSchema,
  type ReactionFailures,
  type Reactor,
  reactorActSchema,
  reactorSchema,
} from '@brine/api/runs';
import type { DescribedApp } from '@brine/http';
import { isMap, listOf, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import type { V1Parts } from '../parts.ts';
import { RefusedRequest } from '../problem.ts';
import { problems } from '../schemas.ts';
import { numberIn } from '../values.ts';
import { CALL_CODES, callRunner } from './call-runner.ts';

const tags = ['reactor'];

/** `/v1/reactor`: what reacts to which events, and what failed. */
export function addReactor(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/reactor',
    {
      exposeHeadRoute: true,
      schema: {
        tags,
        summary: 'Which files react to which tags',
        description: 'For a caller with the runner `reactor.list`.',
        querystring: noQuery,
        response: { 200: reactorSchema, ...problems(...CALL_CODES) },
      },
    },
    async (request): Promise<Reactor> => {
      const entries = await unlessOff(() => callRunner(request, parts, 'reactor.list'));
      if (entries === OFF) return { items: [], reason: NOT_CONFIGURED };
      return { items: mapsIn(entries).flatMap((entry) => [...entry].map(entryOf)) };
    },
  );
  app.get(
    '/reactor/failures',
    {
      exposeHeadRoute: true,
      schema: {
        tags,
        summary: 'Reactions that failed, newest first',
        description: 'For a caller with the runner `reactor.failed`.',
        querystring: failuresQuery,
        response: { 200: failuresSchema, ...problems(...CALL_CODES) },
      },
    },
    async (request): Promise<ReactionFailures> => {
      const found = await unlessOff(() =>
        callRunner(request, parts, 'reactor.failed', request.query),
      );
      if (found === OFF) return { items: [], counted: 0, waiting: 0 };
      const whole = isMap(found) ? found : mapOf({});
      return {
        items: mapsIn(listOf(whole, 'failed') ?? []).map(failureOf),
        counted: numberIn(whole, 'counted') ?? 0,
        waiting: numberIn(whole, 'waiting') ?? 0,
      };
    },
  );
  addActs(app, parts);
}

/** How a master without the option refuses (Salt: salt/runners/reactor.py). */
const REFUSAL = 'Reactor system is not running.';
const NOT_CONFIGURED = 'No reactor is configured: the option `reactor` is empty';
const OFF = Symbol('no reactor');

/** What is read of the reactor; where none is configured there is nothing. */
async function unlessOff(read: () => Promise<SaltValue>): Promise<SaltValue | typeof OFF> {
  try {
    return await read();
  } catch (error) {
    const isOff =
      error instanceof RefusedRequest &&
      error.code === 'refused' &&
      error.message.includes(REFUSAL);
    if (isOff) return OFF;
    throw error;
  }
}

function addActs(app: DescribedApp, parts: V1Parts): void {
  app.post(
    '/reactor/act',
    {
      schema: {
        tags,
        summary: 'Add or delete an entry',
        description:
          'Runs `reactor.add` or `reactor.delete` with the rights of the caller, for all masters ' +
          'of the cluster and for good.',
        body: reactorActSchema,
        response: { 200: actedSchema, ...problems(...CALL_CODES) },
      },
    },
    async (request): Promise<Acted> => {
      const { act, ...given } = request.body;
      const done = await callRunner(request, parts, `reactor.${act}`, given);
      const comment = isMap(done) ? (textOf(done, 'comment') ?? '') : '';
      const isDone = isMap(done) && done.get('status') === true;
      if (!isDone) throw new RefusedRequest('refused', comment);
      return { comment };
    },
  );
}

function mapsIn(value: SaltValue): readonly SaltMap[] {
  return Array.isArray(value) ? value.filter(isMap) : [];
}

function entryOf([event, reactors]: [SaltValue, SaltValue]): Reactor['items'][number] {
  return { event: pyStr(event), reactors: [reactors].flat().map(pyStr) };
}

function failureOf(failure: SaltMap): ReactionFailures['items'][number] {
  const text = (name: string): string => textOf(failure, name) ?? '';
  const at = timeText(Date.parse(text('time')) / 1_000);
  return {
    id: text('id'),
    at,
    tag: text('tag'),
    kind: text('kind'),
    what: text('what'),
    why: text('why'),
  };
}
