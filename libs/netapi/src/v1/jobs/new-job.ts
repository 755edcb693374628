import { createHash } from 'node:crypto';
import { type BegunJob, begunJobSchema, type NewJob, newJobSchema } from '@brine/api/jobs';
import { publishLoad } from '@brine/client';
import type { DescribedApp, HttpRequest } from '@brine/http';
import {
  checkNames,
  isMap,
  mapIn,
  mapOf,
  type SaltMap,
  type SaltValue,
  textOf,
  unpack,
} from '@brine/wire';
import { clearEnvelope } from '@brine/wire/frames';
import { fromJson } from '@brine/wire/text';
import { refuse } from '../../clients/master-requests.ts';
import { headerOf } from '../../rest-cherrypy/asked.ts';
import { addressOfWork, askedBy } from '../asking.ts';
import { needClient } from '../enabled.ts';
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
        .header('Location', addressOfWork(request, 'jobs', jid))
        .send({ jid });
    },
  );
}

/** A command as a caller of `/v1` gives it. */
export interface AskedCommand {
  readonly tgt: string | readonly string[];
  readonly tgtType: string;
  readonly fun: string | readonly string[];
  readonly arg: readonly SaltValue[];
  readonly ret: string;
  readonly metadata: SaltMap;
  readonly expect: { readonly count: number; readonly digest?: string | undefined } | undefined;
  /** Present for one that runs on some minions at a time. */
  readonly batch?: NewJob['batch'];
}

/**
 * Publishes a command with the rights of the caller of a request.
 * @throws RefusedRequest, NetapiError
 */
export async function publishAs(
  request: HttpRequest,
  parts: V1Parts,
  command: AskedCommand,
): Promise<BegunJob> {
  needClient(parts, command.batch === undefined ? 'job' : 'batch');
  const { requests, room } = parts;
  const load = loadOf(request, parts, command);
  checkNames(load, 'the job');
  const body = clearEnvelope(load);
  const answer = await inPlace(request, room, () =>
    requests.publish(body, askedBy(request), requests.newId()),
  );
  return begunIn(unpack(answer));
}

function commandOf(job: NewJob): AskedCommand {
  const { tgt, tgtType, fun, arg, kwarg, ret, expect, batch } = job;
  if (batch !== undefined && job.durable !== undefined) {
    throw new RefusedRequest('bad-request', 'batch: not with durable');
  }
  const keywords = fromObject(kwarg);
  const given = arg.map(fromJson);
  const named =
    keywords.size === 0 ? [] : [new Map<SaltValue, SaltValue>([['__kwarg__', true], ...keywords])];
  return {
    tgt,
    tgtType,
    fun,
    expect,
    batch,
    arg: [...given, ...named],
    ret: ret.join(','),
    metadata: metadataOf(job),
  };
}

function loadOf(
  request: HttpRequest,
  { settings, commandOptions }: Pick<V1Parts, 'settings' | 'commandOptions'>,
  { metadata, expect, batch, ...command }: AskedCommand,
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
  const repeatable = repeatableOf(request);
  if (repeatable !== undefined) load.set('brine_repeatable', repeatable);
  if (batch === undefined) return load;
  const { size, canary, halt, failhard, wait } = batch;
  const ms = (name: string): number | undefined => {
    const seconds = commandOptions[name];
    return typeof seconds === 'number' ? seconds * 1_000 : undefined;
  };
  return load.set('cmd', 'brine_batch').set(
    'batch',
    mapOf({
      size,
      canary,
      halt,
      failhard,
      wait_ms: Math.round(wait * 1_000),
      timeout_ms: ms('timeout'),
      gather_ms: ms('gather_job_timeout'),
    }),
  );
}

/** What a request with an `Idempotency-Key` is for a master; undefined without one. */
export function repeatableOf(request: HttpRequest): SaltMap | undefined {
  const key = keyOf(request);
  if (key === undefined) return undefined;
  // The minions of a second run may be others by then: its address and body name what is asked for.
  const asked = `${request.method} ${request.url}\n${JSON.stringify(request.body)}`;
  return mapOf({ key, body: createHash('sha256').update(asked).digest('base64url') });
}

function metadataOf({ metadata, deadline, durable }: NewJob): SaltMap {
  const kept = fromObject(metadata);
  if (deadline !== undefined) kept.set('brine_deadline', deadline);
  if (durable !== undefined) kept.set('brine_durable', durable);
  return kept;
}

/** A map of what JSON has. */
export function fromObject(given: Readonly<Record<string, unknown>>): SaltMap {
  return new Map(Object.entries(given).map(([name, one]) => [name, fromJson(one)] as const));
}

/** The `Idempotency-Key` of a request. @throws RefusedRequest for one that is none */
function keyOf(request: HttpRequest): string | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && KEY.test(key)) return key;
  throw new RefusedRequest('bad-request', 'Idempotency-Key: 1 to 128 visible characters of ASCII');
}

const NO_MINION = 'No minion matches the target.';

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
  if (answer.get('matched') === false) throw new RefusedRequest('bad-target', NO_MINION);
  // The answer of a batch has no load.
  const load = mapIn(answer, 'load') ?? answer;
  const jid = textOf(load, 'jid');
  if (jid === undefined) throw new RefusedRequest('bad-target', textOf(load, 'error') ?? '');
  return { jid };
}
