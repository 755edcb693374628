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
  // Behind a proxy with TLS the origin differs from our own address: the browser knows better.
  const isOwn =
    site === undefined ? origin === undefined || isOf(request, origin) : OWN_SITES.has(site);
  if (!isOwn) throw new NetapiError(403, 'This is refused to pages of other origins.');
}

/** Of a browser's `Sec-Fetch-Site`. `none`: a person typed the address. */
const OWN_SITES: ReadonlySet<string> = new Set(['same-origin', 'none']);

/** By the host alone: before TLS of a proxy the scheme is another one. */
function isOf({ host }: HttpRequest, origin: string): boolean {
  return URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
}
