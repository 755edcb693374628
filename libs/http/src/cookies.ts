import type { HttpReply, HttpRequest } from './http-listener.ts';

import '@fastify/cookie';

/** Before the name of a cookie that came over TLS: browsers let no other host and path set it. */
const HOST_PREFIX = '__Host-';

/** A cookie that no script reads and that no other site sends. */
const OWN = { path: '/', httpOnly: true, sameSite: 'strict' } as const;

/** A cookie of ours; one that only this host can have set is preferred. */
export function ownCookieOf({ cookies }: HttpRequest, name: string): string | undefined {
  return cookies[HOST_PREFIX + name] ?? cookies[name];
}

/** A cookie to set. */
export interface OwnCookie {
  readonly name: string;
  readonly value: string;
  /** Unix seconds. */
  readonly expire: number;
  /** `lax`: a link of another site sends it too; default `strict`. */
  readonly sameSite?: 'lax';
}

/**
 * Sets a cookie until a time, in unix seconds. Over TLS it comes back over TLS alone, and its name
 * begins with `__Host-`.
 */
export function setOwnCookie(request: HttpRequest, reply: HttpReply, cookie: OwnCookie): void {
  const { name, value, expire, sameSite = OWN.sameSite } = cookie;
  void reply.setCookie(nameFor(request, name), value, {
    ...OWN,
    sameSite,
    secure: isSecure(request),
    maxAge: Math.max(0, Math.floor(expire - Date.now() / 1_000)),
    expires: new Date(expire * 1_000),
  });
}

/** Removes a cookie that {@link setOwnCookie} has set. */
export function clearOwnCookie(request: HttpRequest, reply: HttpReply, name: string): void {
  // A browser ignores the removal of such a cookie without `Secure`.
  void reply.clearCookie(nameFor(request, name), { ...OWN, secure: isSecure(request) });
}

function nameFor(request: HttpRequest, name: string): string {
  return isSecure(request) ? HOST_PREFIX + name : name;
}

function isSecure({ protocol }: HttpRequest): boolean {
  return protocol === 'https';
}
