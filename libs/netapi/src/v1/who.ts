import { type HttpRequest, ownCookieOf } from '@brine/http';
import type { MasterRequests } from '../clients/master-requests.ts';
import { NetapiError } from '../errors.ts';
import type { Places } from '../places.ts';
import { addressOf, COOKIE, headerOf, namesOf } from '../rest-cherrypy/asked.ts';
import { mayBeToken } from '../sessions/callers.ts';
import { tokenRecord } from '../sessions/new-session.ts';
import { isSessionId } from '../sessions/session-box.ts';
import type { Session, Sessions } from '../sessions/sessions.ts';
import { RefusedRequest } from './problem.ts';

/** Who asks: a session, or an eauth token. */
export interface Who {
  readonly session: Session;
  /** Undefined for an eauth token, which has no session. */
  readonly id: string | undefined;
}

/** Finds the log-in that a request names; undefined without a valid one. */
export async function findWho(
  request: HttpRequest,
  { requests, sessions }: { readonly requests: MasterRequests; readonly sessions: Sessions },
): Promise<Who | undefined> {
  const given = givenBy(request);
  if (given === undefined || !mayBeToken(given)) return undefined;
  const known = isSessionId(given) ? await sessions.find(given) : undefined;
  if (known !== undefined) return { session: known.session, id: known.id };
  const record = await tokenRecord(requests, given, addressOf(request));
  if (record === undefined) return undefined;
  const { user, eauth, start, expire } = record;
  return { session: { token: given, user, eauth, start, expire }, id: undefined };
}

/** True with a token in a header, which no page of another origin can add. */
export function namesItsCaller(request: HttpRequest): boolean {
  return inHeader(request) !== undefined;
}

function givenBy(request: HttpRequest): string | undefined {
  return inHeader(request) ?? ownCookieOf(request, COOKIE);
}

function inHeader(request: HttpRequest): string | undefined {
  const bearer = /^Bearer +(\S+)$/i.exec(headerOf(request, 'authorization') ?? '')?.[1];
  return bearer ?? headerOf(request, 'x-auth-token');
}

/** The log-ins of requests that were admitted. */
const whoOf = new WeakMap<HttpRequest, Who>();

/** Keeps who asks, for the route of a request. */
export function admitAs(request: HttpRequest, who: Who): void {
  whoOf.set(request, who);
}

/** Who asks; undefined before that is known, and in a route that is open to all. */
export function admitted(request: HttpRequest): Who | undefined {
  return whoOf.get(request);
}

/** Who asks. @throws Error in a route that is open to all */
export function whoAsks(request: HttpRequest): Who {
  const who = admitted(request);
  if (who === undefined) throw new Error('a route without a log-in asks for one');
  return who;
}

/**
 * Makes a call in a place of its own, until it is over: a peer that hangs up does not end it.
 * @throws RefusedRequest without room
 */
export async function inPlace<T>(
  request: HttpRequest,
  room: Places,
  call: () => Promise<T>,
): Promise<T> {
  const leave = enter(() => room.enter(namesOf(request, whoOf.get(request)?.session)));
  try {
    return await call();
  } finally {
    leave();
  }
}

/** Takes a place. @throws RefusedRequest without room */
export function enter(take: () => () => void): () => void {
  try {
    return take();
  } catch (cause) {
    if (!(cause instanceof NetapiError)) throw cause;
    const { retryAfter } = cause;
    throw new RefusedRequest('too-many', '', {
      cause,
      ...(retryAfter === undefined ? {} : { retryAfter }),
    });
  }
}
