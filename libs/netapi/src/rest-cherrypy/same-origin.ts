import { cookieOf, type HttpRequest } from '@brine/http';
import { NetapiError } from '../errors.ts';
import { COOKIE, headerOf } from './asked.ts';

/**
 * Refuses a request that a page of another origin made a browser send: the browser adds the cookie
 * by itself. Programs send neither header and pass, and so does a request with a token of its own,
 * which no page of another origin can add.
 * @throws NetapiError 403
 */
export function refuseOtherOrigins(request: HttpRequest, origins: readonly string[]): void {
  if (headerOf(request, 'x-auth-token') !== undefined) return;
  if (cookieOf(request, COOKIE) === undefined) return;
  const origin = headerOf(request, 'origin');
  if (origin !== undefined && origins.includes(origin)) return;
  const site = headerOf(request, 'sec-fetch-site');
  // `none`: a person typed the address.
  const isOther = site !== undefined && site !== 'same-origin' && site !== 'none';
  const isForeign = origin !== undefined && !isOwn(request, origin);
  if (isOther || isForeign)
    throw new NetapiError(403, 'This is refused to pages of other origins.');
}

/** By the host alone: before TLS of a proxy the scheme is another one. */
function isOwn({ host }: HttpRequest, origin: string): boolean {
  return URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
}
