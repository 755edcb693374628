import type { HttpRequest } from '@brine/http';
import { addressOf } from '../rest-cherrypy/asked.ts';
import type { ApiCaller } from '../sessions/callers.ts';
import type { V1Parts } from './parts.ts';
import { RefusedRequest } from './problem.ts';
import { whoAsks } from './who.ts';

/**
 * The caller with what it could read within the last five seconds.
 * @throws RefusedRequest, NetapiError
 */
export async function callerAgain(
  request: HttpRequest,
  { callers }: Pick<V1Parts, 'callers'>,
): Promise<ApiCaller> {
  const caller = await callers.again(whoAsks(request).session.token, addressOf(request));
  if (caller === undefined) throw new RefusedRequest('not-logged-in');
  return caller;
}

/** The caller with what it may read now. @throws RefusedRequest, NetapiError */
export async function callerOf(
  request: HttpRequest,
  { callers }: Pick<V1Parts, 'callers'>,
): Promise<ApiCaller> {
  const caller = await callers.ofToken(whoAsks(request).session.token, addressOf(request));
  if (caller === undefined) throw new RefusedRequest('not-logged-in');
  return caller;
}
