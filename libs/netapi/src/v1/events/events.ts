import {
  eventParams,
  eventQuery,
  eventSchema,
  type EventsQuery,
  eventsQuery,
  eventsSchema,
} from '@brine/api';
import { isPosition } from '@brine/bus/timeline';
import type { DescribedApp } from '@brine/http';
import { compileGlob, WorkError } from '@brine/target';
import { type EventQuestion, type FoundEvents, GoneError } from '../../live/event-search.ts';
import { wholeText } from '../../live/event-text.ts';
import { addressOf } from '../../rest-cherrypy/asked.ts';
import { callerOf } from '../caller.ts';
import type { V1Parts } from '../parts.ts';
import { RefusedRequest } from '../problem.ts';
import { problems } from '../schemas.ts';
import { timeOf } from '../time-or-age.ts';
import { inPlace } from '../who.ts';

/** A body that is sent as a whole. */
const BODY_MAX_BYTES = 64 * 1024 * 1024;

const tags = ['events'];

/** `/v1/events`: what happened, and the body of one event. */
export function addEvents(app: DescribedApp, parts: V1Parts): void {
  const { searches, events } = parts;
  app.get(
    '/events',
    {
      exposeHeadRoute: true,
      schema: {
        tags,
        summary: 'Events that were stored, oldest first',
        description: 'Each event is judged by the rights of the caller.',
        querystring: eventsQuery,
        response: { 200: eventsSchema, ...problems('gone', 'too-many', 'no-master') },
      },
    },
    async (request, reply) => {
      const question = questionOf(request.query, Date.now());
      const found = await inPlace(request, searches, async () => {
        const caller = await callerOf(request, parts);
        return goneOr(() => events.page(question, { caller, peer: addressOf(request) }));
      });
      return reply
        .type(JSON_TYPE)
        .serializer(String)
        .send(pageText(found) as never);
    },
  );
  app.get(
    '/events/:position',
    {
      exposeHeadRoute: true,
      schema: {
        tags,
        summary: 'One event with its whole body',
        params: eventParams,
        querystring: eventQuery,
        response: {
          200: eventSchema,
          ...problems('not-found', 'too-large', 'too-many', 'no-master'),
        },
      },
    },
    async (request, reply) => {
      const { position } = request.params;
      if (!isPosition(position)) throw new RefusedRequest('bad-request', NO_POSITION);
      const event = await inPlace(request, searches, async () => {
        const asker = { caller: await callerOf(request, parts), peer: addressOf(request) };
        return events.one(position, request.query.stream, { asker, maxBytes: BODY_MAX_BYTES });
      });
      if (event === undefined) throw new RefusedRequest('not-found');
      if (event === 'too-large') throw new RefusedRequest('too-large');
      return reply
        .type(JSON_TYPE)
        .serializer(String)
        .send(wholeText(event) as never);
    },
  );
}

const JSON_TYPE = 'application/json; charset=utf-8';
const NO_POSITION = 'position: is no position of an event';

function pageText({ texts, position, isOver, notices }: FoundEvents): string {
  const place = JSON.stringify(position);
  const next = isOver ? 'null' : place;
  const rest = `"next":${next},"asOf":${place},"notices":${JSON.stringify(notices)}`;
  return `{"items":[${texts.join(',')}],${rest}}`;
}

async function goneOr<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    if (!(cause instanceof GoneError)) throw cause;
    throw new RefusedRequest('gone', cause.message, { cause });
  }
}

function questionOf(query: EventsQuery, nowMs: number): EventQuestion {
  const { from, to, tag, minion, jid, kind, limit } = query;
  return {
    from: fromOf(from, nowMs),
    toMs: to === undefined ? undefined : timeOf('to', to, nowMs),
    kind,
    max: limit,
    fits: fitTest({ tag, minion, jid, kind }),
  };
}

function fromOf(text: string, nowMs: number): EventQuestion['from'] {
  if (text === 'now' || text === 'oldest') return text;
  return isPosition(text) ? { position: text } : { timeMs: timeOf('from', text, nowMs) };
}

function fitTest({
  tag,
  minion,
  jid,
  kind,
}: Pick<EventsQuery, 'tag' | 'minion' | 'jid' | 'kind'>): EventQuestion['fits'] {
  const isTag = globTest(tag);
  const isMinion = globTest(minion);
  return (event) => {
    // Messages of jobs are read for each kind, so that the position is one in both streams.
    if (kind !== undefined && event.kind !== kind) return false;
    if (jid !== undefined && event.jid !== jid && !event.tag.split('/').includes(jid)) return false;
    if (minion !== undefined && !isMinion(event.minion ?? '')) return false;
    return isTag(event.tag);
  };
}

function globTest(glob: string | undefined): (text: string) => boolean {
  if (glob === undefined) return () => true;
  const test = compileGlob(glob);
  return (text) => {
    try {
      return test(text);
    } catch (cause) {
      if (!(cause instanceof WorkError)) throw cause;
      throw new RefusedRequest('bad-request', 'a glob takes too much work', { cause });
    }
  };
}
