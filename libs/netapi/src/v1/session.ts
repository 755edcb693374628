import {
  anyLogInSchema,
  logInsSchema,
  sessionSchema,
  type SessionShown,
  timeText,
} from '@brine/api';
import { clearOwnCookie, type DescribedApp, setOwnCookie } from '@brine/http';
import { mapOf, type SaltMap, textOf } from '@brine/wire';
import { mayComeFrom } from '../rest-cherrypy/api-acl.ts';
import { addressOf, COOKIE, STRANGER_BODY_BYTES } from '../rest-cherrypy/asked.ts';
import { refuseOtherLogIns } from '../rest-cherrypy/same-origin.ts';
import { endSession, type LoggedIn, newSession } from '../sessions/new-session.ts';
import type { Session } from '../sessions/sessions.ts';
import type { V1Parts } from './parts.ts';
import { RefusedRequest } from './problem.ts';
import { nothing, problems } from './schemas.ts';
import { findWho, inPlace, whoAsks } from './who.ts';

const tags = ['session'];

/** `/v1/session`: log-in, its end, and what is known of it. */
export function addSession(app: DescribedApp, parts: V1Parts): void {
  addLogIns(app, parts);
  app.post(
    '/session',
    {
      bodyLimit: STRANGER_BODY_BYTES,
      schema: {
        tags,
        summary: 'Log in',
        description:
          'By a name and a password, or by a code of `brine console`. Sets a cookie; ' +
          'programs may send its value as a bearer token instead.',
        security: [],
        body: anyLogInSchema,
        response: { 201: sessionSchema, ...problems('log-in-refused', 'too-many', 'no-master') },
      },
    },
    async (request, reply) => {
      refuseOtherLogIns(request, parts.origins);
      const given = mapOf(request.body);
      const loggedIn = await inPlace(request, parts.room, () =>
        logIn(parts, given, addressOf(request)),
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

/** `/v1/log-ins`, for a page before a log-in. */
function addLogIns(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/log-ins',
    {
      exposeHeadRoute: true,
      schema: {
        tags,
        summary: 'What one may log in with',
        description: 'Open to all. A page finds out so whether its user is logged in.',
        security: [],
        response: { 200: logInsSchema, ...problems() },
      },
    },
    async (request) => {
      const known = await findWho(request, parts);
      const { logInModules, logInElsewhere: elsewhere } = parts;
      return {
        modules: [...logInModules],
        ...(elsewhere === undefined ? {} : { elsewhere }),
        ...(known === undefined ? {} : { session: shown(known.session) }),
      };
    },
  );
}

/** Undefined for a log-in that is refused, also from an address that is not its user's. */
export async function logIn(
  parts: Pick<V1Parts, 'requests' | 'sessions' | 'apiAcl'>,
  given: SaltMap,
  peer: string,
): Promise<LoggedIn | undefined> {
  const username = textOf(given, 'username');
  if (username !== undefined && !mayComeFrom(parts.apiAcl, username, peer)) return undefined;
  const loggedIn = await newSession(parts, given, peer);
  if (loggedIn === undefined || username !== undefined) return loggedIn;
  // A code, or a log-in elsewhere, shows its user only now.
  const { id, session } = loggedIn;
  if (mayComeFrom(parts.apiAcl, session.user, peer)) return loggedIn;
  await endSession(parts, { id, token: session.token }, peer);
  return undefined;
}

function shown({ user, eauth, start, expire }: Session): SessionShown {
  return { principal: user, eauth, started: timeText(start), expires: timeText(expire) };
}
