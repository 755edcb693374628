import { randomUUID } from 'node:crypto';
import type { WorkerTraces } from '@brine/job-traces';
import type { Answerer } from '@brine/master';
import type { Caller } from '@brine/master/functions';
import { nowMs } from '@brine/telemetry';

/** Facts about a worker's request to itself, beside its body. */
export interface LocalRequest {
  /** Id that is the same for each copy of a publish. Absent: a new one. */
  readonly id?: string;
  /** Trace context of the command that caused it: a link in its trace, hidden from minions. */
  readonly link?: string;
  /** The caller, if it is not the master's own user. */
  readonly caller?: Caller;
}

/** Answers a request of this process itself, as if a gateway of this host had brought it. */
export async function answerLocally(
  answerer: Pick<Answerer, 'answer'>,
  body: Uint8Array,
  { host: gatewayHost, id = randomUUID(), link, caller }: LocalRequest & { readonly host: string },
  traceOwn: WorkerTraces['own'],
): Promise<Uint8Array> {
  const startMs = nowMs();
  const asked = { id, body, gatewayHost, receivedMs: Date.now(), readsStore: true };
  const request = caller === undefined ? asked : { ...asked, caller };
  const answer = await answerer.answer(request);
  if (answer.kind === 'drop') throw new Error('the master could not answer itself');
  const { about } = answer;
  traceOwn(
    request.id,
    about === undefined || link === undefined ? about : { ...about, link },
    startMs,
  );
  return answer.body;
}
