import { Readable } from 'node:stream';
import { BusError } from '@brine/bus';
import type { RestCherrypyOptions } from '@brine/config';
import {
  allowFiles,
  HTTP_LIMITS,
  type HttpApp,
  type HttpReply,
  type HttpRequest,
  sendFile,
  serveDirectory,
  serveFile,
  serveSockets,
  whenClosed,
} from '@brine/http';
import { mapOf } from '@brine/wire';
import { NetapiError, UnexpectedError } from '../errors.ts';
import type { Places } from '../places.ts';
import type { KnownSession } from '../sessions/sessions.ts';
import { acceptedType } from './accept.ts';
import { type AnswerBody, writeAnswer } from './answers.ts';
import {
  addressOf,
  type Asked,
  namesOf,
  refuseQuery,
  STRANGER_BODY_BYTES,
  tokenOf,
  typeOf,
} from './asked.ts';
import { type CallParts, Calls, welcome } from './calls.ts';
import type { RequestCounts } from './counts.ts';
import { errorPage } from './error-page.ts';
import { type EventParts, follow, streamEvents } from './events.ts';
import { fireHook, type HookEvents } from './hooks.ts';
import { type LogInParts, LogIns } from './log-in.ts';
import { refuseOtherLogIns, refuseOtherOrigins } from './same-origin.ts';
import { serveSocket } from './websocket.ts';

/** What the API is served with. */
export interface RestCherrypyParts extends CallParts, EventParts, LogInParts {
  readonly options: RestCherrypyOptions;
  readonly hooks: HookEvents;
  readonly counts: RequestCounts;
  readonly room: Places;
  /** Origins whose pages may use the API from a browser. */
  readonly origins: readonly string[];
  readonly onFault: (error: unknown, request: string) => void;
}

type Answered = AnswerBody | Buffer | void;
type Handler = (asked: Asked) => Answered | Promise<Answered>;

/** One address of the API. */
interface Resource {
  readonly GET?: Handler;
  readonly POST?: Handler;
  /** Methods that need a log-in before anything else. */
  readonly needsLogIn: 'all' | 'POST' | 'none';
  /** True if it looks at the session of the peer. */
  readonly hasSession: boolean;
  /** Its methods that ask the master for something. */
  readonly calls: 'all' | 'POST' | 'none';
  /** True if its POST gives a browser a cookie. */
  readonly givesCookie?: true;
  /** Parts of the path that a GET takes after its name. */
  readonly depth: number;
  /** Those that a POST takes, default none. */
  readonly postDepth?: number;
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
const PREFLIGHT_METHODS = 'GET, POST';
const PREFLIGHT_HEADERS = 'Content-Type, X-Auth-Token, X-Requested-With';
const PREFLIGHT_AGE_S = '1400';

/** All addresses of Salt's rest_cherrypy, added to an application. */
export class RestCherrypy {
  readonly #parts: RestCherrypyParts;
  readonly #calls: Calls;
  readonly #logIns: LogIns;

  constructor(parts: RestCherrypyParts) {
    this.#parts = parts;
    this.#calls = new Calls(parts);
    this.#logIns = new LogIns(parts);
  }

  /** Adds the routes. */
  async build(app: HttpApp): Promise<void> {
    const { options, counts, origins } = this.#parts;
    app.addHook('onRequest', async (request, reply) => {
      const end = counts.begin();
      whenClosed(reply, () => end(reply.raw.statusCode));
      allowOrigin(request, reply, origins);
      this.#checkAddress(request);
    });
    app.setErrorHandler((error, request, reply) => this.#refuse(error, request, reply));
    app.setNotFoundHandler((request, reply) => {
      const [path = ''] = request.url.split('?');
      return this.#refuse(
        new NetapiError(404, `The path '${readable(path)}' was not found.`),
        request,
        reply,
      );
    });
    app.removeAllContentTypeParsers();
    // Bodies are read after the log-in is known, by the type that the peer names.
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) =>
      done(null, body),
    );
    app.options('*', async (_request, reply) => reply.code(204).send());
    await app.register(
      async (scope) => {
        for (const [name, resource] of this.#resources()) this.#add(scope, name, resource);
        this.#addSocket(scope);
        await this.#addFiles(scope);
      },
      { prefix: options.rootPrefix },
    );
  }

  #resources(): ReadonlyMap<string, Resource> {
    const { options, hooks, counts } = this.#parts;
    const { enableSessions, webhookPath, webhookDisableAuth, statsDisableAuth } = options;
    const calls = this.#calls;
    const logIns = this.#logIns;
    const own = { needsLogIn: 'none', hasSession: true, calls: 'POST', depth: 0 } as const;
    const stranger = { ...own, hasSession: false } as const;
    const guarded = { ...own, needsLogIn: 'all' } as const;
    const hasPage = options.app !== undefined;
    const front: Handler = (asked) =>
      !hasPage && isBrowser(asked.request) ? toConsole(asked, options.rootPrefix) : welcome(asked);
    const root = { ...own, needsLogIn: 'POST', GET: front, POST: calls.root } as const;
    const withSessions: [string, Resource][] = [
      ['/login', { ...own, givesCookie: true, GET: logIns.explain, POST: logIns.logIn }],
      ['/logout', { ...guarded, GET: welcome, POST: logIns.logOut }],
      [
        '/minions',
        { ...guarded, calls: 'all', depth: 1, GET: calls.minions, POST: calls.startJobs },
      ],
      ['/jobs', { ...guarded, calls: 'all', depth: 2, GET: calls.jobs, POST: calls.root }],
    ];
    return new Map<string, Resource>([
      ['/', root],
      // A name that CherryPy has for the same page.
      ['/index', root],
      ...(enableSessions ? withSessions : []),
      ['/run', { ...stranger, GET: welcome, POST: calls.run }],
      ['/token', { ...stranger, GET: welcome, POST: logIns.token }],
      ['/keys', { ...own, calls: 'all', depth: 1, GET: calls.keys, POST: calls.makeKeys }],
      ['/events', { ...stranger, GET: (asked) => streamEvents(asked, this.#parts) }],
      [
        webhookPath,
        {
          ...(webhookDisableAuth ? stranger : guarded),
          depth: Infinity,
          postDepth: Infinity,
          POST: (asked) => fireHook(asked, hooks),
        },
      ],
      [
        '/stats',
        {
          ...(statsDisableAuth ? stranger : guarded),
          GET: (asked) => {
            refuseQuery(asked);
            return writeAnswer(counts.shown(), typeOf(asked));
          },
        },
      ],
    ]);
  }

  #add(app: HttpApp, name: string, resource: Resource): void {
    for (const one of name === '/' ? [name] : [name, `${name}/*`]) {
      app.route({
        method: [...METHODS],
        url: one,
        onRequest: async (request, reply) => this.#admit(request, reply, resource),
        ...(resource.needsLogIn === 'none' ? { bodyLimit: this.#strangerBytes() } : {}),
        handler: async (request, reply) => this.#serve(request, reply, resource),
      });
    }
  }

  #strangerBytes(): number {
    const { bodyMaxBytes = HTTP_LIMITS.bodyBytes } = this.#parts.options;
    return Math.min(bodyMaxBytes, STRANGER_BODY_BYTES);
  }

  /** Before the body is read: the method, and the log-in. */
  async #admit(request: HttpRequest, reply: HttpReply, resource: Resource): Promise<void> {
    void reply.header('Allow', allowedBy(resource));
    const handler = handlerOf(request, resource);
    const mustBeKnown = isAmong(request, resource.needsLogIn);
    const { origins } = this.#parts;
    refuseOtherOrigins(request, origins);
    if (resource.givesCookie && request.method === 'POST') refuseOtherLogIns(request, origins);
    if (resource.hasSession) {
      const session = await this.#sessionOf(request);
      sessionsOf.set(request, session);
      if (session === undefined && mustBeKnown) throw new NetapiError(401, '');
      if (mustBeKnown) void reply.header('Cache-Control', 'private');
    }
    if (handler === undefined) throw new NetapiError(405, '');
    if (isAmong(request, resource.calls)) this.#takePlace(request, reply);
  }

  /** Until the answer is sent and the call is over, which a peer that hangs up does not end. */
  #takePlace(request: HttpRequest, reply: HttpReply): void {
    const leave = this.#parts.room.enter(namesOf(request, sessionsOf.get(request)?.session));
    whenClosed(reply, () => {
      const call = callsOf.get(request);
      if (call === undefined) leave();
      else void call.then(leave);
    });
  }

  async #serve(request: HttpRequest, reply: HttpReply, resource: Resource): Promise<unknown> {
    const handler = handlerOf(request, resource);
    if (handler === undefined) throw new NetapiError(405, '');
    const rest = (request.params as Record<string, string | undefined>)['*'] ?? '';
    const path = rest.split('/').filter((part) => part !== '');
    const { depth, postDepth = 0 } = resource;
    if (path.length > (request.method === 'POST' ? postDepth : depth))
      throw new NetapiError(404, '');
    const session = sessionsOf.get(request);
    const answer = (async () => handler({ request, reply, path, session }))();
    callsOf.set(request, endOf(answer));
    const body = await answer;
    if (reply.sent) return reply;
    if (!reply.hasHeader('content-type')) void reply.type(acceptedType(request.headers.accept));
    return reply.send(asBytes(body));
  }

  #sessionOf(request: HttpRequest): Promise<KnownSession | undefined> {
    return this.#parts.sessions.find(tokenOf(request));
  }

  #checkAddress(request: HttpRequest): void {
    const { authorizedIps } = this.#parts.options;
    if (authorizedIps.length === 0 || authorizedIps.includes(addressOf(request))) return;
    throw new NetapiError(403, 'Bad IP');
  }

  /** `/ws` without an upgrade is not found, as where a stock salt-api has no WebSockets. */
  #addSocket(app: HttpApp): void {
    serveSockets(app, '/ws', {
      admit: async (request) => {
        refuseOtherOrigins(request, this.#parts.origins);
        const { caller, leave } = await follow(request, this.#parts);
        // With the connection, as no upgrade may follow.
        const { socket } = request.raw;
        if (socket.destroyed) leave();
        else socket.once('close', leave);
        return caller;
      },
      onSocket: (socket, request, caller) => serveSocket(socket, request, caller, this.#parts),
    });
  }

  /** The page of an application, a directory of files, and an icon. */
  async #addFiles(app: HttpApp): Promise<void> {
    const { options } = this.#parts;
    const { app: page, appPath, staticDir, staticPath, favicon } = options;
    if (page === undefined && staticDir === undefined && favicon === undefined) return;
    await allowFiles(app);
    if (staticDir !== undefined) serveDirectory(app, staticDir, staticPath);
    if (favicon !== undefined) serveFile(app, favicon, '/favicon.ico');
    if (page === undefined) return;
    for (const url of [appPath, `${appPath}/*`]) serveFile(app, page, url);
    app.addHook('onRequest', async (request, reply) => {
      const [path = ''] = request.url.split('?');
      const isApi = [appPath, staticPath].some((one) =>
        path.startsWith(`${options.rootPrefix}${one}`),
      );
      if (isApi || !wantsPage(request)) return;
      await sendFile(reply, page);
    });
  }

  #refuse(error: unknown, request: HttpRequest, reply: HttpReply): HttpReply {
    const known = error instanceof NetapiError ? error : refusalOf(error);
    if (known === undefined) {
      if (!(error instanceof UnexpectedError)) {
        this.#parts.onFault(error, `${request.method} ${request.url.split('?')[0]}`);
      }
      return unexpected(request, reply);
    }
    if (known.retryAfter !== undefined) void reply.header('Retry-After', String(known.retryAfter));
    const { status } = known;
    return reply
      .code(status)
      .type('text/html;charset=utf-8')
      .send(errorPage(status, known.message));
  }
}

/** The ends of the calls of requests; none of these promises rejects. */
const callsOf = new WeakMap<HttpRequest, Promise<void>>();

/** Resolves once nothing waits for minions any more. */
async function endOf(answer: Promise<Answered>): Promise<void> {
  const body = await answer.catch(() => undefined);
  if (!(body instanceof Readable) || body.closed) return;
  await new Promise((resolve) => body.once('close', resolve));
}

/** The sessions of requests whose log-in was checked. */
const sessionsOf = new WeakMap<HttpRequest, KnownSession | undefined>();

function handlerOf({ method }: HttpRequest, { GET, POST }: Resource): Handler | undefined {
  if (method === 'GET' || method === 'HEAD') return GET;
  return method === 'POST' ? POST : undefined;
}

function isAmong({ method }: HttpRequest, methods: 'all' | 'POST' | 'none'): boolean {
  return methods === 'all' || (methods === 'POST' && method === 'POST');
}

function allowedBy({ GET, POST }: Resource): string {
  return [
    ...(GET === undefined ? [] : ['GET', 'HEAD']),
    ...(POST === undefined ? [] : ['POST']),
  ].join(', ');
}

/** A path as a person reads it. */
function readable(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** True for a browser that asks for a page: no program is answered with one. */
function wantsPage({ method, headers }: HttpRequest): boolean {
  const { accept = '' } = headers;
  return (method === 'GET' || method === 'HEAD') && /(^|[\s,])text\/html\b/i.test(accept);
}

/**
 * True for a browser that opens an address. A program that asks for HTML alone gets the 406 of a
 * stock salt-api.
 */
function isBrowser({ headers: { accept = '' } }: HttpRequest): boolean {
  return /^text\/html, *application\/xhtml\+xml\b/i.test(accept);
}

/** Leads to the page of Brine. */
function toConsole({ reply }: Asked, prefix: string): string {
  void reply
    .code(302)
    .header('Location', `${prefix}/console/`)
    .header('Vary', 'Accept')
    .type('text/html;charset=utf-8');
  return '';
}

/** Headers for pages of other origins, if the operator lists them. */
function allowOrigin(request: HttpRequest, reply: HttpReply, origins: readonly string[]): void {
  void reply.header('X-Content-Type-Options', 'nosniff');
  const { origin } = request.headers;
  if (origins.length === 0) return;
  void reply.header('Vary', 'Origin');
  if (origin === undefined || !origins.includes(origin)) return;
  void reply
    .header('Access-Control-Allow-Origin', origin)
    .header('Access-Control-Allow-Credentials', 'true')
    .header('Access-Control-Expose-Headers', 'X-Auth-Token');
  if (request.method !== 'OPTIONS') return;
  void reply
    .header('Access-Control-Allow-Methods', PREFLIGHT_METHODS)
    .header('Access-Control-Allow-Headers', PREFLIGHT_HEADERS)
    .header('Access-Control-Max-Age', PREFLIGHT_AGE_S);
}

/** Faults of the web server and the streams that a peer should know. */
function refusalOf(error: unknown): NetapiError | undefined {
  if (error instanceof BusError) {
    return new NetapiError(503, 'Salt Master is not available.', { cause: error, retryAfter: 5 });
  }
  const { statusCode } = error as { readonly statusCode?: number };
  const isOfPeer = statusCode !== undefined && statusCode >= 400 && statusCode < 500;
  return isOfPeer ? new NetapiError(statusCode, '', { cause: error }) : undefined;
}

/** A text as bytes: to the type of a text, the web server would add a charset, unlike Salt. */
function asBytes(body: Answered): Exclude<Answered, string> {
  return typeof body === 'string' ? Buffer.from(body) : body;
}

/** Salt's answer to a request whose call failed in a way that it does not foresee. */
function unexpected(request: HttpRequest, reply: HttpReply): HttpReply {
  const text = mapOf({ status: 500, return: 'An unexpected error occurred' });
  let type: ReturnType<typeof acceptedType> = 'application/json';
  try {
    type = acceptedType(request.headers.accept);
  } catch {
    // It wants another form: it gets JSON.
  }
  return reply
    .code(500)
    .type(type)
    .send(asBytes(writeAnswer(text, type)));
}
