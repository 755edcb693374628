import { logInSchema, sessionSchema, type SessionShown, timeText } from '@brine/api';
import { clearOwnCookie, type DescribedApp, setOwnCookie } from '@brine/http';
import { mapOf } from '@brine/wire';
import { mayComeFrom } from '../rest-cherrypy/api-acl.ts';
import { addressOf, COOKIE, STRANGER_BODY_BYTES } from '../rest-cherrypy/asked.ts';
import { refuseOtherLogIns } from '../rest-cherrypy/same-origin.ts';
import { endSession, newSession } from '../sessions/new-session.ts';
import type { Session } from '../sessions/sessions.ts';
import type { V1Parts } from './parts.ts';
import { RefusedRequest } from './problem.ts';
import { nothing, problems } from './schemas.ts';
import { inPlace, whoAsks } from './who.ts';

const tags = ['session'];

/** `/v1/session`: log-in, its end, and what is known of it. */
export function addSession(app: DescribedApp, parts: V1Parts): void {
  app.post(
    '/session',
    {
      bodyLimit: STRANGER_BODY_BYTES,
      schema: {
        tags,
        summary: 'Log in',
        description: 'Sets a cookie; programs may send its value as a bearer token instead.',
        security: [],
        body: logInSchema,
        response: { 201: sessionSchema, ...problems('log-in-refused', 'too-many', 'no-master') },
      },
    },
    async (request, reply) => {
      refuseOtherLogIns(request, parts.origins);
      const { username, password, eauth } = request.body;
      const peer = addressOf(request);
      if (!mayComeFrom(parts.apiAcl, username, peer)) throw new RefusedRequest('log-in-refused');
      const loggedIn = await inPlace(request, parts.room, () =>
        newSession(parts, mapOf({ username, password, eauth }), peer),
      );
      if (loggedIn === undefined) throw new RefusedRequest('log-in-refused');
      const { id, session } = loggedIn;
      setOwnCookie(request, reply, { name: COOKIE, value: id, expire: session.expire });
      return reply.code(201).header('Location', request.url).send(shown(session));
    },
  );
  app.get(
    '/session',
    {
      exposeHeadRoute: true,
      schema: { tags, summary: 'The log-in', response: { 200: sessionSchema, ...problems() } },
    },
    async (request) => shown(whoAsks(request).session),
  );
  app.delete(
    '/session',
    {
      schema: {
        tags,
        summary: 'Log out',
        description: 'Ends the session everywhere at once, and revokes its token.',
        response: { 204: nothing, ...problems('too-many', 'no-master') },
      },
    },
    async (request, reply) => {
      const { id, session } = whoAsks(request);
      await inPlace(request, parts.room, () =>
        endSession(parts, { id, token: session.token }, addressOf(request)),
      );
      clearOwnCookie(request, reply, COOKIE);
      return reply.code(204).send();
    },
  );
}

function shown({ user, eauth, start, expire }: Session): SessionShown {
  return { principal: user, eauth, started: timeText(start), expires: timeText(expire) };
}
