import {
  commandEventSchema,
  commandEventsQuery,
  type CommandOptions,
  commandOptionsSchema,
  commandReplySchema,
  commandRequestSchema,
} from '@brine/api';
import { NodegroupError } from '@brine/client';
import { type DescribedApp, whenClosed } from '@brine/http';
import { pack } from '@brine/wire';
import { clearEnvelope } from '@brine/wire/frames';
import { eventByEvent, type Form, type WriteFrame } from '../../live/frames.ts';
import { beginSse } from '../../live/sse.ts';
import { addressOf } from '../../rest-cherrypy/asked.ts';
import { untilOver } from '../../rest-cherrypy/events.ts';
import { callerOf } from '../caller.ts';
import type { V1Parts } from '../parts.ts';
import { problems } from '../schemas.ts';
import { enter, inPlace, whoAsks } from '../who.ts';
import { commandLoad, refusedNodegroup } from './command-loads.ts';

const tags = ['commands'];

/**
 * `/v1/commands`: the request port and the event socket of the master's host, for `brine --api`.
 * A worker judges each load as one from port 4506.
 */
export function addCommands(app: DescribedApp, parts: V1Parts): void {
  addOptions(app, parts);
  addRequests(app, parts);
  addEvents(app, parts);
}

function addOptions(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/commands/options',
    {
      exposeHeadRoute: true,
      schema: {
        tags,
        summary: 'What a command needs to wait and to print',
        response: { 200: commandOptionsSchema, ...problems('too-many', 'no-master') },
      },
    },
    async (request): Promise<CommandOptions> => {
      const { principal, acl } = (
        await inPlace(request, parts.room, () => callerOf(request, parts))
      ).reader;
      return { principal, readsAll: acl === undefined, options: { ...parts.commandOptions } };
    },
  );
}

function addRequests(app: DescribedApp, parts: V1Parts): void {
  app.post(
    '/commands/requests',
    {
      schema: {
        tags,
        summary: 'Send a clear load',
        description:
          'For `brine --api`: a load of port 4506 without credentials, and its answer. The ' +
          'commands are publish, runner, wheel, brine_query, brine_events, brine_batch and ' +
          'brine_resolve. The same load sent again is done once.',
        body: commandRequestSchema,
        response: {
          200: commandReplySchema,
          ...problems('forbidden', 'too-large', 'too-many', 'no-master'),
        },
      },
    },
    async (request) => {
      const { session } = whoAsks(request);
      const reply = await inPlace(request, parts.room, async () => {
        try {
          const { load, isPublish } = commandLoad(request.body.load, session, parts);
          const { requests } = parts;
          const peer = addressOf(request);
          const by = { asker: `user ${session.eauth} ${session.user}`, peer };
          const body = clearEnvelope(load);
          if (isPublish) return await requests.publish(body, by, requests.newId());
          return await requests.send(body, by);
        } catch (error) {
          if (error instanceof NodegroupError) return pack(refusedNodegroup(error));
          throw error;
        }
      });
      return { reply: Buffer.from(reply).toString('base64') };
    },
  );
}

function addEvents(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/commands/events',
    {
      schema: {
        tags,
        summary: 'Follow events as port 4506 would give them',
        description:
          'For `brine --api`: server-sent events whose data is a pair of tag and data, as ' +
          'msgpack in base64.',
        querystring: commandEventsQuery,
        response: {
          200: {
            description: 'A stream without an end.',
            content: { 'text/event-stream': { schema: commandEventSchema } },
          },
          ...problems('too-many', 'no-master'),
        },
      },
    },
    async (request, reply) => {
      const gone = new AbortController();
      whenClosed(reply, () => gone.abort());
      const caller = await inPlace(request, parts.room, async () => {
        const found = await callerOf(request, parts);
        await parts.begin();
        return found;
      });
      const leave = enter(() => parts.followers.enter(caller.reader.principal));
      whenClosed(reply, leave);
      void reply.header('X-Accel-Buffering', 'no');
      const { sink } = beginSse(request, reply, gone, ':\n\n');
      if (gone.signal.aborted) return;
      const peer = addressOf(request);
      const sight = request.query.only === 'own' ? ownSight(parts.sight) : parts.sight;
      const followed = parts.followers.add(sink, sight(caller, peer), PACKED);
      const stream = { caller, followed, peer, gone: gone.signal };
      void untilOver({ callers: parts.callers, sight }, stream).then(() => sink.end(undefined));
    },
  );
}

const packedFrame: WriteFrame = ({ tag, data }) =>
  `data: ${Buffer.from(pack([tag, data], 'bin')).toString('base64')}\n\n`;

/** A comment is a sign of life. */
const PACKED: Form = { ...eventByEvent('packed', () => packedFrame), idle: () => ':\n\n' };

/** The events of what a caller began itself: those that it sees without any right. */
function ownSight(sight: V1Parts['sight']): V1Parts['sight'] {
  return (caller, peer) => sight({ ...caller, reader: { ...caller.reader, acl: [] } }, peer);
}
