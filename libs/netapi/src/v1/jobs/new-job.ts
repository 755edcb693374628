import { createHash } from 'node:crypto';
import { type BegunJob, begunJobSchema, type NewJob, newJobSchema } from '@brine/api/jobs';
import { publishLoad } from '@brine/client';
import type { DescribedApp, HttpRequest } from '@brine/http';
import { isMap, mapIn, mapOf, type SaltMap, type SaltValue, textOf, unpack } from '@brine/wire';
import { clearEnvelope } from '@brine/wire/frames';
import { fromJson } from '@brine/wire/text';
import { refuse } from '../../clients/master-requests.ts';
import { headerOf } from '../../rest-cherrypy/asked.ts';
import { askedBy } from '../asking.ts';
import type { V1Parts } from '../parts.ts';
import { RefusedRequest } from '../problem.ts';
import { problems } from '../schemas.ts';
import { inPlace, whoAsks } from '../who.ts';

/** Characters of an `Idempotency-Key`, as its header may have them. */
const KEY = /^[\x21-\x7e]{1,128}$/;

/** `POST /v1/jobs`: publishes a job. */
export function addNewJob(app: DescribedApp, parts: V1Parts): void {
  app.post(
    '/jobs',
    {
      schema: {
        tags: ['jobs'],
        summary: 'Publish a job',
        description:
          'With `expect` it is refused where the target means other minions than were counted. ' +
          'With a header `Idempotency-Key` (1 to 128 characters) the same request may be sent ' +
          'again for a day, to any replica: it is one job. `netapi_enable_clients` needs `local` ' +
          'or `local_async`.',
        body: newJobSchema,
        response: {
          202: begunJobSchema,
          ...problems('forbidden', 'changed', 'bad-target', 'key-in-use', 'too-many', 'no-master'),
        },
      },
    },
    async (request, reply) => {
      const { jid } = await publishAs(request, parts, commandOf(request.body));
      return reply
        .code(202)
        .header('Location', `${addressOfJobs(request)}/${jid}`)
        .send({ jid });
    },
  );
}

/** The path of `/v1/jobs` as the peer wrote it. */
export function addressOfJobs({ url }: HttpRequest): string {
  return `${url.slice(0, url.indexOf('/v1/'))}/v1/jobs`;
}

/** The clients of `netapi_enable_clients` of which one stands for jobs. */
const CLIENTS = ['local', 'local_async'] as const;
const NOT_ENABLED = `netapi_enable_clients has neither ${CLIENTS.join(' nor ')}`;

/** A command as a caller of `/v1` gives it. */
export interface AskedCommand {
  readonly tgt: string | readonly string[];
  readonly tgtType: string;
  readonly fun: string | readonly string[];
  readonly arg: readonly SaltValue[];
  readonly ret: string;
  readonly metadata: SaltMap;
  readonly expect: { readonly count: number; readonly digest?: string | undefined } | undefined;
}

/**
 * Publishes a command with the rights of the caller of a request.
 * @throws RefusedRequest, NetapiError
 */
export async function publishAs(
  request: HttpRequest,
  { requests, room, settings, enabled }: V1Parts,
  command: AskedCommand,
): Promise<BegunJob> {
  if (!CLIENTS.some((name) => enabled.includes(name))) {
    throw new RefusedRequest('forbidden', NOT_ENABLED);
  }
  const body = clearEnvelope(loadOf(request, settings, command));
  const answer = await inPlace(request, room, () =>
    requests.publish(body, askedBy(request), requests.newId()),
  );
  return begunIn(unpack(answer));
}

function commandOf(job: NewJob): AskedCommand {
  const { tgt, tgtType, fun, arg, kwarg, ret, expect } = job;
  const keywords = fromObject(kwarg);
  const given = arg.map(fromJson);
  const named =
    keywords.size === 0 ? [] : [new Map<SaltValue, SaltValue>([['__kwarg__', true], ...keywords])];
  const metadata = metadataOf(job);
  return { tgt, tgtType, fun, arg: [...given, ...named], ret: ret.join(','), metadata, expect };
}

function loadOf(
  request: HttpRequest,
  settings: V1Parts['settings'],
  { metadata, expect, ...command }: AskedCommand,
): SaltMap {
  const { token } = whoAsks(request).session;
  const traceparent = headerOf(request, 'traceparent');
  const kwargs = mapOf({ token, ...(metadata.size === 0 ? {} : { metadata }) });
  const load = publishLoad({ ...command, kwargs }, '', {
    ...settings,
    ...(traceparent === undefined ? {} : { traceparent }),
  });
  load.delete('key');
  if (expect !== undefined) load.set('brine_expect', mapOf(expect));
  const key = keyOf(request);
  // The minions of a second run may be others by then: its address and body name what is asked for.
  const asked = `${request.method} ${request.url}\n${JSON.stringify(request.body)}`;
  const body = createHash('sha256').update(asked).digest('base64url');
  if (key !== undefined) load.set('brine_repeatable', mapOf({ key, body }));
  return load;
}

function metadataOf({ metadata, deadline, durable }: NewJob): SaltMap {
  const kept = fromObject(metadata);
  if (deadline !== undefined) kept.set('brine_deadline', deadline);
  if (durable !== undefined) kept.set('brine_durable', durable);
  return kept;
}

function fromObject(given: Readonly<Record<string, unknown>>): SaltMap {
  return new Map(Object.entries(given).map(([name, one]) => [name, fromJson(one)] as const));
}

/** The `Idempotency-Key` of a request. @throws RefusedRequest for one that is none */
function keyOf(request: HttpRequest): string | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && KEY.test(key)) return key;
  throw new RefusedRequest('bad-request', 'Idempotency-Key: 1 to 128 visible characters of ASCII');
}

/** The job of an answer. @throws RefusedRequest, NetapiError */
function begunIn(answer: SaltValue): BegunJob {
  if (!isMap(answer)) throw new RefusedRequest('bad-target');
  const error = mapIn(answer, 'error');
  const name = error && textOf(error, 'name');
  if (error !== undefined && name === 'TargetChangedError') {
    const count = Number(error.get('count'));
    throw new RefusedRequest('changed', '', {
      facts: { count, digest: textOf(error, 'digest') ?? '' },
    });
  }
  if (name === 'CommandKeyError') throw new RefusedRequest('key-in-use');
  const text = textOf(answer, 'error');
  if (text !== undefined) throw new RefusedRequest('no-master', text, { retryAfter: 5 });
  refuse(answer);
  const load = mapIn(answer, 'load') ?? mapOf({});
  const jid = textOf(load, 'jid');
  if (jid === undefined) throw new RefusedRequest('bad-target', textOf(load, 'error') ?? '');
  return { jid };
}
