import { randomUUID } from 'node:crypto';
import type { BegunJob } from '@brine/api/jobs';
import type { NewRun } from '@brine/api/runs';
import type { HttpRequest } from '@brine/http';
import { isMap, mapIn, mapOf, type SaltMap, textOf, unpack } from '@brine/wire';
import { clearEnvelope } from '@brine/wire/frames';
import { COMMAND_NAME } from '@brine/wire/load';
import { fromJson } from '@brine/wire/text';
import { refuse, RETRY_AFTER_S } from '../../clients/master-requests.ts';
import { headerOf } from '../../rest-cherrypy/asked.ts';
import { askedBy } from '../asking.ts';
import { needClient } from '../enabled.ts';
import { fromObject, repeatableOf } from '../jobs/new-job.ts';
import type { V1Parts } from '../parts.ts';
import { RefusedRequest } from '../problem.ts';
import { inPlace, whoAsks } from '../who.ts';

/** The codes of {@link beginRun}. */
export const RUN_CODES = ['forbidden', 'key-in-use', 'too-many', 'no-master'] as const;

/** Begins a run of a function of the master with the rights of the caller of a request. */
export async function beginRun(
  request: HttpRequest,
  parts: Pick<V1Parts, 'enabled' | 'requests' | 'room'>,
  run: NewRun,
): Promise<BegunJob> {
  needClient(parts, run.client === 'wheel' ? 'beginWheel' : 'beginRunner');
  const body = clearEnvelope(loadOf(request, run));
  return inPlace(request, parts.room, async () => {
    const { requests } = parts;
    const by = askedBy(request);
    // In the share of its user, as publishes are.
    const answer = unpack(await requests.publish(body, by, requests.newId()));
    const error = isMap(answer) ? mapIn(answer, 'error') : undefined;
    if (error !== undefined) throw refusalOf(error);
    refuse(answer);
    const jid = isMap(answer) ? textOf(answer, 'jid') : undefined;
    if (jid === undefined) throw new RefusedRequest('no-master', '', { retryAfter: 5 });
    return { jid };
  });
}

function loadOf(request: HttpRequest, { client, fun, arg, kwarg }: NewRun): SaltMap {
  const { token } = whoAsks(request).session;
  const given = { arg: arg.map(fromJson), kwarg: fromObject(kwarg) };
  const traceparent = headerOf(request, 'traceparent');
  const repeatable = repeatableOf(request);
  const named = repeatable === undefined ? {} : { brine_repeatable: repeatable };
  if (client === 'wheel') {
    return mapOf({ cmd: 'wheel', fun, ...given, token, brine_async: true, ...named });
  }
  return mapOf({
    cmd: 'runner',
    fun,
    kwarg: mapOf(given),
    token,
    traceparent,
    ...(repeatable === undefined ? { [COMMAND_NAME]: randomUUID() } : named),
  });
}

/** The refusal of a call. @throws the error of a master for all others */
function refusalOf(error: SaltMap): RefusedRequest {
  const text = textOf(error, 'message') ?? '';
  switch (textOf(error, 'name')) {
    case 'CommandKeyError':
      return new RefusedRequest('key-in-use');
    case 'CommandExecutionError':
      return new RefusedRequest('bad-request', text);
    case 'SaltRunnerError':
      return new RefusedRequest('too-many', text, { retryAfter: RETRY_AFTER_S });
    default:
      refuse(mapOf({ error }));
      return new RefusedRequest('fault');
  }
}
