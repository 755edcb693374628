import type { HttpRequest } from '@brine/http';
import { isMap, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import type { AskedBy } from '../clients/master-requests.ts';
import { NetapiError } from '../errors.ts';
import { addressOf } from '../rest-cherrypy/asked.ts';
import type { V1Parts } from './parts.ts';
import { RefusedRequest } from './problem.ts';
import { inPlace, whoAsks } from './who.ts';

/** Who makes a request, for the share of its user in the master. */
export function askedBy(request: HttpRequest): AskedBy {
  const { session } = whoAsks(request);
  return { asker: `user ${session.eauth} ${session.user}`, peer: addressOf(request) };
}

/** What is on record, as the caller of a request may see it. @throws RefusedRequest `not-found` */
export async function readAs(
  request: HttpRequest,
  { requests, room }: Pick<V1Parts, 'requests' | 'room'>,
  read: string,
  args: Readonly<Record<string, SaltValue | undefined>>,
): Promise<SaltMap> {
  const { token } = whoAsks(request).session;
  const load = mapOf({ cmd: 'brine_read', token, read, args: mapOf(args) });
  const answer = await inPlace(request, room, () => requests.ask(load, askedBy(request)));
  const value = isMap(answer) ? answer.get('value') : undefined;
  if (value === undefined || !isMap(value)) throw new RefusedRequest('not-found');
  return value;
}

/**
 * Makes a call of a runner or a wheel, whose missing right a master names as it names a bad token.
 * @throws RefusedRequest `forbidden` with a token that is valid
 */
export async function asCall<T>(
  request: HttpRequest,
  { callers }: Pick<V1Parts, 'callers'>,
  call: () => Promise<T>,
): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    if (!(cause instanceof NetapiError) || cause.status !== 401) throw cause;
    const { token } = whoAsks(request).session;
    const isValid = (await callers.ofToken(token, addressOf(request))) !== undefined;
    throw new RefusedRequest(isValid ? 'forbidden' : 'not-logged-in', '', { cause });
  }
}
