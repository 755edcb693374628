import { streamQuery, streamSchema } from '@brine/api';
import { isPosition } from '@brine/bus/timeline';
import { type DescribedApp, type HttpRequest, whenClosed } from '@brine/http';
import { NetapiError } from '../../errors.ts';
import { beginSse } from '../../live/sse.ts';
import { addressOf, headerOf } from '../../rest-cherrypy/asked.ts';
import { untilOver } from '../../rest-cherrypy/events.ts';
import type { ApiCaller } from '../../sessions/callers.ts';
import { byeText } from '../../stream/messages.ts';
import { readTopics, type Topics } from '../../stream/topics.ts';
import { callerOf } from '../caller.ts';
import type { V1Parts } from '../parts.ts';
import { RefusedRequest } from '../problem.ts';
import { problems } from '../schemas.ts';
import { inPlace } from '../who.ts';

/** `/v1/stream`: what happens, as server-sent events. */
export function addStream(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/stream',
    {
      schema: {
        tags: ['events'],
        summary: 'What happens from now on, or from a position on',
        description:
          'Server-sent events. The `id` of a message is a position: a peer that comes again with ' +
          'it gets each event once and misses none, from any replica. Of a stream that was cut ' +
          'within a frame, counts and returns may come twice. Other topics are another request.',
        querystring: streamQuery,
        response: {
          200: {
            description: 'A stream without an end.',
            content: { 'text/event-stream': { schema: streamSchema } },
          },
          ...problems('too-many', 'no-master'),
        },
      },
    },
    async (request, reply) => {
      const gone = new AbortController();
      whenClosed(reply, () => gone.abort());
      const topics = topicsOf(request.query.topics, parts);
      const from = fromOf(request, request.query.from);
      const caller = await inPlace(request, parts.room, async () => {
        const found = await callerOf(request, parts);
        await parts.begin();
        return found;
      });
      whenClosed(reply, enter(parts, caller, topics));
      // Proxies that gather answers would keep what comes.
      void reply.header('X-Accel-Buffering', 'no');
      const { sink } = beginSse(request, reply, gone, ':\n\n');
      if (gone.signal.aborted) return;
      const peer = addressOf(request);
      const sight = parts.sight(caller, peer);
      const followed = parts.streams.open(
        { sink, gone: gone.signal, topics, sight, from },
        (error) => parts.onFault(error, 'GET /v1/stream'),
      );
      void untilOver(parts, { caller, followed, peer, gone: gone.signal }).then(() =>
        sink.end(byeText()),
      );
    },
  );
}

function topicsOf(text: string, { topics }: V1Parts): Topics {
  try {
    return readTopics(text, topics);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new RefusedRequest('bad-request', cause.message, { cause });
  }
}

/** Browsers come again with the header, and with the address as it was. */
function fromOf(request: HttpRequest, from: string | undefined): string | undefined {
  const position = headerOf(request, 'last-event-id') ?? from;
  if (position === undefined || isPosition(position)) return position;
  throw new RefusedRequest('bad-request', 'from, Last-Event-ID: is no position of an event');
}

function enter({ streams }: V1Parts, { reader }: ApiCaller, topics: Topics): () => void {
  try {
    return streams.enter(reader.principal, topics);
  } catch (cause) {
    if (!(cause instanceof NetapiError)) throw cause;
    const { retryAfter = 0 } = cause;
    throw new RefusedRequest('too-many', cause.message, { cause, retryAfter });
  }
}
