import { described, type HttpApp, type HttpReply, type HttpRequest } from '@brine/http';
import { NetapiError } from '../errors.ts';
import { addressOf } from '../rest-cherrypy/asked.ts';
import { refuseOtherOrigins } from '../rest-cherrypy/same-origin.ts';
import { addCommands } from './commands/commands.ts';
import { addDocument, API_INFO } from './document.ts';
import { addEvents } from './events/events.ts';
import { addStream } from './events/stream.ts';
import { addDrift } from './fleet/drift.ts';
import { addKeys } from './fleet/keys.ts';
import { addMinion } from './fleet/minion.ts';
import { addMinionJobs } from './fleet/minion-jobs.ts';
import { addMinionParts } from './fleet/minion-parts.ts';
import { addMinions } from './fleet/minions.ts';
import { addOverview } from './fleet/overview.ts';
import { addJobCourse } from './jobs/job-course.ts';
import { addReturns } from './jobs/job-returns.ts';
import { addJobs } from './jobs/jobs.ts';
import { addNewJob } from './jobs/new-job.ts';
import { addReruns } from './jobs/rerun.ts';
import { addTrace } from './jobs/trace.ts';
import { addMe } from './me.ts';
import type { V1Parts } from './parts.ts';
import { refusalOf, RefusedRequest, sendProblem } from './problem.ts';
import { addAudit } from './runs/audit.ts';
import { addBatches } from './runs/batches.ts';
import { addReactor } from './runs/reactor.ts';
import { addRuns } from './runs/runs.ts';
import { addSchedule } from './runs/schedule.ts';
import { addSession } from './session.ts';
import { addSite } from './site/site.ts';
import { addTargets } from './targets.ts';
import { admitAs, admitted, findWho, namesItsCaller } from './who.ts';

/** The largest body of `/v1`: a list of 100,000 minions has some MiB. */
const BODY_BYTES = 8 * 1024 * 1024;
/** Values and keys of a body, as a list of 250,000 minions. */
const VALUES_MAX = 300_000;

/** Adds `/v1`: JSON alone, problems as errors, a log-in for all but its own documents. */
export async function addV1(app: HttpApp, prefix: string, parts: V1Parts): Promise<void> {
  const base = `${prefix}/v1`;
  await app.register(
    async (scope) => {
      scope.setErrorHandler((error, request, reply) =>
        refuse(error, request, reply, { base, parts }),
      );
      scope.setNotFoundHandler((request, reply) =>
        refuse(new RefusedRequest('not-found'), request, reply, { base, parts }),
      );
      readJsonAlone(scope);
      scope.addHook('onRequest', async (request, reply) => {
        void reply.header('Cache-Control', 'no-store');
        if (!namesItsCaller(request)) refuseOtherOrigins(request, parts.origins);
        await admit(request, parts);
      });
      const methods = methodsByUrl(scope);
      await described(scope, API_INFO(parts.release), (routes) => {
        addSession(routes, parts);
        addMe(routes, parts);
        addTargets(routes, parts);
        addEvents(routes, parts);
        addMinions(routes, parts);
        addStream(routes, parts);
        addNewJob(routes, parts);
        addJobs(routes, parts);
        addReturns(routes, parts);
        addJobCourse(routes, parts);
        addReruns(routes, parts);
        addTrace(routes, parts);
        addCommands(routes, parts);
        addMinion(routes, parts);
        addMinionParts(routes, parts);
        addMinionJobs(routes, parts);
        addKeys(routes, parts);
        addOverview(routes, parts);
        addRuns(routes, parts);
        addBatches(routes, parts);
        addReactor(routes, parts);
        addSchedule(routes, parts);
        addAudit(routes, parts);
        addSite(routes, parts);
        addDrift(routes, parts);
        addDocument(routes, base);
      });
      refuseOtherMethods(scope, base, methods);
    },
    { prefix: base },
  );
}

/** The methods of each address, as they are added. */
function methodsByUrl(scope: HttpApp): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  scope.addHook('onRoute', ({ url, method }) => {
    const known = found.get(url) ?? new Set<string>();
    for (const one of [method].flat()) known.add(one);
    found.set(url, known);
  });
  return found;
}

function refuseOtherMethods(
  scope: HttpApp,
  base: string,
  methods: ReadonlyMap<string, ReadonlySet<string>>,
): void {
  for (const [url, known] of [...methods]) {
    scope.route({
      // OPTIONS is asked by browsers before they ask for anything else.
      method: scope.supportedMethods.filter((one) => one !== 'OPTIONS' && !known.has(one)),
      url: url.slice(base.length),
      // Refused by name without a log-in too: an address that is open to all asks for none.
      schema: { hide: true, security: [] },
      // Before a body is looked at: some methods are refused without one.
      onRequest: async (_request, reply) => {
        void reply.header('Allow', [...known].join(', '));
        throw new RefusedRequest('bad-method');
      },
      handler: async () => undefined,
    });
  }
}

/** A body of another type is refused before it is read. */
function readJsonAlone(scope: HttpApp): void {
  scope.removeAllContentTypeParsers();
  const options = { parseAs: 'string', bodyLimit: BODY_BYTES } as const;
  scope.addContentTypeParser<string>('application/json', options, (_request, body, done) => {
    try {
      const value: unknown = JSON.parse(body);
      if (hasAtMost(value, VALUES_MAX)) done(null, value);
      else done(new RefusedRequest('too-large', TOO_MANY), undefined);
    } catch (cause) {
      done(new RefusedRequest('bad-request', 'The body is no JSON.', { cause }), undefined);
    }
  });
}

const TOO_MANY = `A body has at most ${VALUES_MAX} values.`;

/** True if a value of JSON is made of at most so many values, and nests no deeper. */
function hasAtMost(value: unknown, most: number): boolean {
  const open = [value];
  let left = most;
  while (open.length > 0) {
    const one = open.pop();
    left -= 1;
    if (typeof one !== 'object' || one === null) continue;
    const parts: unknown[] = Object.values(one);
    if (parts.length > left - open.length) return false;
    open.push(...parts);
  }
  return true;
}

interface Served {
  readonly base: string;
  readonly parts: V1Parts;
}

/**
 * A refusal as it is meant: a master names a missing right as it names a bad token. With a token
 * that is valid the caller has a log-in, and not the right.
 */
async function asMeant(
  refusal: RefusedRequest | undefined,
  request: HttpRequest,
  { callers }: V1Parts,
): Promise<RefusedRequest | undefined> {
  const who = admitted(request);
  const { cause } = refusal ?? {};
  const isOfToken = cause instanceof NetapiError && cause.refusal === 'TokenAuthenticationError';
  if (who === undefined || !isOfToken) return refusal;
  try {
    const caller = await callers.again(who.session.token, addressOf(request));
    return caller === undefined ? refusal : new RefusedRequest('forbidden', '', { cause: refusal });
  } catch (error) {
    return refusalOf(error) ?? refusal;
  }
}

/** Finds who asks, before a body is read; a log-in itself needs none. */
async function admit(request: HttpRequest, parts: V1Parts): Promise<void> {
  // An empty list in the schema of a route: it is for all.
  if (request.routeOptions.schema?.security?.length === 0) return;
  const who = await findWho(request, parts);
  if (who === undefined) throw new RefusedRequest('not-logged-in');
  admitAs(request, who);
}

async function refuse(
  error: unknown,
  request: HttpRequest,
  reply: HttpReply,
  { base, parts }: Served,
): Promise<HttpReply> {
  const known = await asMeant(refusalOf(error), request, parts);
  if (known === undefined) {
    parts.onFault(error, `${request.method} ${request.url.split('?')[0]}`);
  }
  const refusal = known ?? new RefusedRequest('fault');
  return sendProblem(request, reply, refusal, `${base}/docs`);
}
