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

/** Asks what is on record; null for what is not there for the caller. @throws NetapiError */
export type AskRead = (
  read: string,
  args: Readonly<Record<string, SaltValue | undefined>>,
) => Promise<SaltValue>;

/** Reads with the log-in of a request, also after that is answered. */
export function readsOf(request: HttpRequest, { requests }: Pick<V1Parts, 'requests'>): AskRead {
  const { token } = whoAsks(request).session;
  const by = askedBy(request);
  return async (read, args) => {
    const question = mapOf(args);
    checkQuestion(question, 'the request');
    const answer = await requests.ask(
      mapOf({ cmd: 'brine_read', token, read, args: question }),
      by,
    );
    return isMap(answer) ? (answer.get('value') ?? null) : null;
  };
}

/** The address of a job or a run, as the peer wrote that of `/v1`. */
export function addressOfWork({ url }: HttpRequest, kind: 'jobs' | 'runs', jid: string): string {
  return `${url.slice(0, url.indexOf('/v1/'))}/v1/${kind}/${jid}`;
}

/** What is on record, as the caller of a request may see it. @throws RefusedRequest `not-found` */
export async function readAs(
  request: HttpRequest,
  parts: Pick<V1Parts, 'requests' | 'room'>,
  ...asked: Parameters<AskRead>
): Promise<SaltMap> {
  const ask = readsOf(request, parts);
  const value = await inPlace(request, parts.room, () => ask(...asked));
  if (!isMap(value)) throw new RefusedRequest('not-found');
  return value;
}
