import { type HttpRequest, ownCookieOf } from '@brine/http';
import { NetapiError } from '../errors.ts';
import { COOKIE, headerOf } from './asked.ts';

const REFUSED = 'This is refused to pages of other origins.';

/**
 * Refuses a request that a page of another origin made a browser send: the browser adds the cookie
 * by itself. Programs send neither header and pass, and so does a request with a token of its own,
 * which no page of another origin can add.
 * @throws NetapiError 403
 */
export function refuseOtherOrigins(request: HttpRequest, origins: readonly string[]): void {
  if (headerOf(request, 'x-auth-token') !== undefined) return;
  if (ownCookieOf(request, COOKIE) === undefined) return;
  const origin = headerOf(request, 'origin');
  if (origin !== undefined && origins.includes(origin)) return;
  const site = headerOf(request, 'sec-fetch-site');
  // Behind a proxy with TLS the origin differs from our own address: the browser knows better.
  const isOwn =
    site === undefined ? origin === undefined || isOf(request, origin) : OWN_SITES.has(site);
  if (!isOwn) throw new NetapiError(403, REFUSED);
}

/**
 * Refuses a log-in that a page of another origin made a browser send: its user would act under the
 * name of another. Without `Sec-Fetch-Site` it passes: a proxy may have changed our own name.
 * @throws NetapiError 403
 */
export function refuseOtherLogIns(request: HttpRequest, origins: readonly string[]): void {
  const site = headerOf(request, 'sec-fetch-site');
  if (site === undefined || OWN_SITES.has(site)) return;
  const origin = headerOf(request, 'origin');
  if (origin === undefined || !origins.includes(origin)) throw new NetapiError(403, REFUSED);
}

/** Of a browser's `Sec-Fetch-Site`. `none`: a person typed the address. */
const OWN_SITES: ReadonlySet<string> = new Set(['same-origin', 'none']);

/** With a proxy the scheme may be another one, but behind our own TLS it is not. */
function isOf({ host, protocol }: HttpRequest, origin: string): boolean {
  if (!URL.canParse(origin)) return false;
  const { host: from, protocol: by } = new URL(origin);
  return from === host.toLowerCase() && (protocol === 'http' || by === 'https:');
}
