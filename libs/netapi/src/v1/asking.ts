import type { HttpRequest } from '@brine/http';
import { checkQuestion, isMap, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import type { AskedBy } from '../clients/master-requests.ts';
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
  const question = mapOf(args);
  checkQuestion(question, 'the request');
  const load = mapOf({ cmd: 'brine_read', token, read, args: question });
  const answer = await inPlace(request, room, () => requests.ask(load, askedBy(request)));
  const value = isMap(answer) ? answer.get('value') : undefined;
  if (value === undefined || !isMap(value)) throw new RefusedRequest('not-found');
  return value;
}
