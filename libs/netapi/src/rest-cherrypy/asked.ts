import { type HttpReply, type HttpRequest, ownCookieOf } from '@brine/http';
import { YamlWork } from '@brine/yaml';
import { lowstateOf } from '../clients/low.ts';
import { NetapiError } from '../errors.ts';
import type { KnownSession, Session } from '../sessions/sessions.ts';
import { acceptedType, type MediaType } from './accept.ts';
import { type Body, NO_BODY, readBody } from './bodies.ts';

/** A request to one of the resources, as its handler sees it. */
export interface Asked {
  readonly request: HttpRequest;
  readonly reply: HttpReply;
  /** The parts of the path after the resource. */
  readonly path: readonly string[];
  /** Of resources that need a log-in; undefined elsewhere. */
  readonly session: KnownSession | undefined;
}

/** A body that comes without a log-in. */
export const STRANGER_BODY_BYTES = 1024 * 1024;

/** The name of the cookie with the session's id. */
export const COOKIE = 'session_id';

/** The address of the peer, as it is shown and compared. */
export function addressOf(request: HttpRequest): string {
  // A peer that has hung up has none any more (Node: `socket.remoteAddress`).
  const ip = (request.ip as string | undefined) ?? '';
  return ip.startsWith('::ffff:') ? ip.slice('::ffff:'.length) : ip;
}

/** The names under which a request takes a place: its address and, once known, its user. */
export function namesOf(
  request: HttpRequest,
  session: Pick<Session, 'eauth' | 'user'> | undefined,
): readonly string[] {
  const address = `address ${addressOf(request)}`;
  return session === undefined ? [address] : [address, `user ${session.eauth} ${session.user}`];
}

/** A header's text; undefined if it is absent, empty or given twice. */
export function headerOf({ headers }: HttpRequest, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/**
 * The token of a request: the header, or the cookie. An empty header counts as none
 * (salt/netapi/rest_cherrypy/app.py salt_token_tool).
 */
export function tokenOf(request: HttpRequest): string | undefined {
  return headerOf(request, 'x-auth-token') ?? ownCookieOf(request, COOKIE);
}

/** The form that the peer wants the answer in. @throws NetapiError 406 */
export function typeOf({ request }: Asked): MediaType {
  return acceptedType(request.headers.accept);
}

/** The body of a request. @throws NetapiError */
export function bodyOf({ request, session }: Asked): Body {
  const { body } = request;
  if (!Buffer.isBuffer(body)) return NO_BODY;
  // YAML is costly to read: without a log-in it has as much work as a minion's request.
  const work = session === undefined ? YamlWork.ofPeer() : YamlWork.ofBody();
  return readBody(request.headers['content-type'], body, work);
}

/** The lowstate in the body. @throws NetapiError */
export function lowstateIn(asked: Asked): ReturnType<typeof lowstateOf> {
  return lowstateOf(bodyOf(asked).data);
}

/** Refuses unknown names in the query, as CherryPy does. @throws NetapiError 404 */
export function refuseQuery({ request }: Asked, known: readonly string[] = []): void {
  const names = Object.keys(request.query as object);
  if (names.some((name) => !known.includes(name))) throw new NetapiError(404, '');
}
