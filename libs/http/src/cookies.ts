import type { HttpReply, HttpRequest } from './http-listener.ts';

import '@fastify/cookie';

/** A cookie of a request. */
export function cookieOf({ cookies }: HttpRequest, name: string): string | undefined {
  return cookies[name];
}

/** A cookie that no script reads and that no other site sends. */
const OWN = { path: '/', httpOnly: true, sameSite: 'strict' } as const;

/** Sets a cookie until a time, in unix seconds; over TLS it comes back over TLS alone. */
export function setOwnCookie(
  request: HttpRequest,
  reply: HttpReply,
  cookie: { readonly name: string; readonly value: string; readonly expire: number },
): void {
  const { name, value, expire } = cookie;
  void reply.setCookie(name, value, {
    ...OWN,
    secure: request.protocol === 'https',
    maxAge: Math.max(0, Math.floor(expire - Date.now() / 1_000)),
    expires: new Date(expire * 1_000),
  });
}

/** Removes a cookie. */
export function clearOwnCookie(reply: HttpReply, name: string): void {
  void reply.clearCookie(name, OWN);
}
