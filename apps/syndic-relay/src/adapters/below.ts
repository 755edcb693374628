import { BusError } from '@brine/bus';
import type { RequestSender } from '@brine/bus/rpc';
import type { MasterBelow, PublishedBelow } from '@brine/syndic';
import type { Log } from '@brine/tasks';
import type { SaltMap } from '@brine/wire';
import { isMap, mapIn, textOf, unpackMap } from '@brine/wire';
import { clearEnvelope } from '@brine/wire/frames';
import type { PublishRequest } from '@brine/wire/load';
import { buildPublish } from '@brine/wire/load';

/** The parts for publishing jobs of masters above here. */
export interface BelowParts {
  readonly requests: Pick<RequestSender, 'send'>;
  /** The local key of the master's user; undefined if it is missing. */
  readonly readKey: () => Promise<string | undefined>;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly wait: (ms: number) => Promise<void>;
}

/** Publishers do not send jobs older than 30 s (`brine.not_after`), so a worker must be quicker. */
const PATIENCE_MS = 25_000;
const RETRY_MS = 250;

/**
 * This master as the relay publishes to it: through a worker, with the key of the master's user.
 */
export class RequestsBelow implements MasterBelow {
  readonly #parts: BelowParts;

  constructor(parts: BelowParts) {
    this.#parts = parts;
  }

  async publish(request: PublishRequest, id: string): Promise<PublishedBelow> {
    const { nowMs, wait } = this.#parts;
    const deadlineMs = nowMs() + PATIENCE_MS;
    while (nowMs() < deadlineMs) {
      const outcome = await this.#once(request, id, deadlineMs);
      if (outcome !== 'away') return outcome;
      await wait(RETRY_MS);
    }
    return 'away';
  }

  async #once(request: PublishRequest, id: string, deadlineMs: number): Promise<PublishedBelow> {
    const { requests, readKey, log } = this.#parts;
    const { jid } = request;
    try {
      const key = await readKey();
      if (key === undefined) {
        log.warn({ jid }, "the key of the master's user is not there yet");
        return 'away';
      }
      const body = clearEnvelope(buildPublish({ ...request, key }));
      const outcome = await requests.send({ id, class: 'clear', body, deadlineMs });
      return outcome.kind === 'reply' ? this.#read(outcome.body, jid) : 'away';
    } catch (error) {
      if (!(error instanceof BusError)) throw error;
      log.warn({ err: error, jid }, 'a job from above could not be published yet');
      return 'away';
    }
  }

  #read(body: Uint8Array, jid: string): PublishedBelow {
    const reply = unpackMap(Buffer.from(body));
    const load = mapIn(reply, 'load');
    if (load !== undefined) return load.get('jid') === null ? 'nobody' : 'published';
    this.#parts.log.warn({ jid, why: whyOf(reply) }, 'a job from above was refused');
    return 'refused';
  }
}

function whyOf(reply: SaltMap): string {
  const error = reply.get('error');
  if (isMap(error)) return textOf(error, 'message') ?? 'no reason given';
  return typeof error === 'string' ? error : 'no reason given';
}
