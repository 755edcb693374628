import { BusError } from '@brine/bus';
import {
  clearOwnCookie,
  type HttpApp,
  type HttpReply,
  type HttpRequest,
  ownCookieOf,
  setOwnCookie,
} from '@brine/http';
import { isMap, mapOf, textOf } from '@brine/wire';
import { NetapiError } from '../errors.ts';
import { addressOf, COOKIE } from '../rest-cherrypy/asked.ts';
import { refuseOtherLogIns } from '../rest-cherrypy/same-origin.ts';
import type { V1Parts } from '../v1/parts.ts';
import { RefusedRequest } from '../v1/problem.ts';
import { logIn } from '../v1/session.ts';
import { inPlace } from '../v1/who.ts';

/** Of the log-in that a browser has begun: what the master sealed, and the page it wants. */
const FLOW_COOKIE = 'oidc_flow';
/** As long as the master takes it back, in seconds. */
const FLOW_LIFE_S = 600;
/** In no sealed text, and in no base64. */
const BETWEEN = '~';
/** Characters of the wanted page; a cookie has room for some 4,000. */
const PAGE_MAX = 1_024;

/** Why the log-in page is shown again (apps/console src/shell/log-in-elsewhere.ts). */
type Outcome = 'refused' | 'away' | 'stale';

type Parts = Pick<V1Parts, 'requests' | 'sessions' | 'apiAcl' | 'origins' | 'room'>;

/**
 * Adds the log-in at a provider of OpenID Connect: `/login/oidc` sends a browser there, and
 * `/login/oidc/callback` takes it back. Both end at a page of the console, and so does a refusal.
 * The master alone asks the provider, and judges what it answers.
 */
export function addLogInElsewhere(app: HttpApp, prefix: string, parts: Parts): void {
  const console = `${prefix}/console`;
  const routes = [
    { url: `${prefix}/login/oidc`, serve: begin },
    { url: `${prefix}/login/oidc/callback`, serve: finish },
  ] as const;
  for (const { url, serve } of routes) {
    app.route({
      method: 'GET',
      url,
      exposeHeadRoute: false,
      handler: async (request, reply) => {
        void reply.headers({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' });
        return reply.redirect(await serve(request, reply, { ...parts, console }), 303);
      },
    });
  }
}

interface Served extends Parts {
  /** The path of the console, without a slash at the end. */
  readonly console: string;
}

/** Begins a log-in; resolves with where the browser goes. */
async function begin(request: HttpRequest, reply: HttpReply, served: Served): Promise<string> {
  const { to } = request.query as { readonly to?: unknown };
  const page = pageOf(to, served.console);
  try {
    // A link of another site makes no user another one: a button of ours does.
    refuseOtherLogIns(request, served.origins);
  } catch (error) {
    if (error instanceof NetapiError) return page;
    throw error;
  }
  try {
    const peer = addressOf(request);
    const begun = await inPlace(request, served.room, () =>
      served.requests.ask(mapOf({ cmd: 'brine_oidc' }), { asker: `log-in ${peer}`, peer }),
    );
    const [address, flow] = isMap(begun) ? [textOf(begun, 'address'), textOf(begun, 'flow')] : [];
    if (address === undefined || flow === undefined) return shownAgain(served, 'away');
    setOwnCookie(request, reply, {
      name: FLOW_COOKIE,
      value: [flow, Buffer.from(page).toString('base64url')].join(BETWEEN),
      expire: Date.now() / 1_000 + FLOW_LIFE_S,
      // It comes back from the page of the provider.
      sameSite: 'lax',
    });
    return address;
  } catch (error) {
    return shownAgain(served, outcomeOf(error));
  }
}

/** Ends a log-in that this browser has begun. */
async function finish(request: HttpRequest, reply: HttpReply, served: Served): Promise<string> {
  const kept = ownCookieOf(request, FLOW_COOKIE);
  if (kept === undefined) return shownAgain(served, 'stale');
  clearOwnCookie(request, reply, FLOW_COOKIE);
  const [flow = '', page = ''] = kept.split(BETWEEN);
  const [, callback = ''] = /^[^?]*\?(.*)$/s.exec(request.url) ?? [];
  try {
    const given = mapOf({ eauth: 'oidc', flow, callback });
    const loggedIn = await inPlace(request, served.room, () =>
      logIn(served, given, addressOf(request)),
    );
    if (loggedIn === undefined) return shownAgain(served, 'refused');
    const { id, session } = loggedIn;
    setOwnCookie(request, reply, { name: COOKIE, value: id, expire: session.expire });
    return pageOf(Buffer.from(page, 'base64url').toString('utf8'), served.console);
  } catch (error) {
    return shownAgain(served, outcomeOf(error));
  }
}

function shownAgain({ console }: Served, outcome: Outcome): string {
  return `${console}/#log-in=${outcome}`;
}

/** @throws the error itself, if it is a fault of ours */
function outcomeOf(error: unknown): Outcome {
  if (error instanceof NetapiError) return error.status === 401 ? 'refused' : 'away';
  if (error instanceof RefusedRequest || error instanceof BusError) return 'away';
  throw error;
}

/** Of no server: paths are read as browsers read them. */
const SOMEWHERE = 'http://console.invalid';

/** The wanted page if it is one of the console, else its first one. */
function pageOf(wanted: unknown, console: string): string {
  const first = `${console}/`;
  if (typeof wanted !== 'string' || wanted.length > PAGE_MAX) return first;
  if (!URL.canParse(wanted, SOMEWHERE)) return first;
  const { origin, pathname, search } = new URL(wanted, SOMEWHERE);
  return origin === SOMEWHERE && pathname.startsWith(first) ? pathname + search : first;
}
