import { randomBytes } from 'node:crypto';
import { LIMITS, type RequestOutcome, type RequestSender } from '@brine/bus/rpc';
import { FairShare } from '@brine/bus/share';
import { GatewaySpans, type Spans } from '@brine/gateway';
import { sleepUnless } from '@brine/tasks';
import { nowMs } from '@brine/telemetry';
import { isMap, mapIn, type SaltMap, type SaltValue, textOf, unpack } from '@brine/wire';
import { clearEnvelope } from '@brine/wire/frames';
import { pyStr } from '@brine/wire/text';
import { NetapiError, UnexpectedError } from '../errors.ts';

/** Who asks: for the shares of workers, and for records. */
export interface AskedBy {
  /** A hash of the credentials: requests of one user wait for each other, and for no others. */
  readonly asker: string;
  /** The address of the peer. */
  readonly peer: string;
}

/** Seconds after which a peer may ask again what found no room. */
export const RETRY_AFTER_S = 5;

/** Texts of Salt for a master that does not answer (salt/netapi/__init__.py run). */
const AWAY = 'Salt Master is not available.';

/**
 * Requests to workers, as a gateway sends those of port 4506: one id for all tries, so that each is
 * done once.
 */
export class MasterRequests {
  readonly #sender: Pick<RequestSender, 'send' | 'expected'>;
  readonly #spans: GatewaySpans;
  readonly #users = new FairShare(LIMITS.http.share);
  readonly #incarnation = randomBytes(9).toString('hex');
  #next = 0;

  constructor(sender: Pick<RequestSender, 'send' | 'expected'>, spans: Spans) {
    this.#sender = sender;
    this.#spans = new GatewaySpans(spans);
  }

  /** An id for a request that is new. */
  newId(): string {
    return `${this.#incarnation}-${(this.#next++).toString(36)}`;
  }

  /**
   * Sends a publish; resolves with the answer. A storm of one user waits here, and not before the
   * requests of others.
   * @throws NetapiError 503 if no worker answers in time
   */
  publish(body: Uint8Array, by: AskedBy, id: string): Promise<Uint8Array> {
    return this.#users.run(by.asker, body.length, () => this.send(body, by, id));
  }

  /**
   * Sends a clear load; resolves with the answer.
   * @throws NetapiError 503 if no worker answers in time
   */
  async send(body: Uint8Array, by: AskedBy, id = this.newId()): Promise<Uint8Array> {
    if (!this.#sender.expected) throw new NetapiError(503, AWAY, { retryAfter: RETRY_AFTER_S });
    const startMs = nowMs();
    const deadlineMs = Date.now() + LIMITS.command.waitsMs;
    for (;;) {
      const { asker, peer } = by;
      const asked = { id, class: 'clear', body, deadlineMs, readsStore: true } as const;
      const outcome = await this.#sender.send({ ...asked, asker, peer });
      if (outcome.kind === 'reply') {
        this.#spans.request(outcome, { id, startMs });
        return outcome.body;
      }
      // The worker could not keep it, or leaves; another one may.
      if (outcome.kind !== 'drop' || Date.now() >= deadlineMs) throw unanswered(outcome);
      await sleepUnless(LIMITS.publish.retryMs, undefined);
    }
  }

  /**
   * Sends a load; resolves with the answer, a map or a plain value.
   * @throws NetapiError, UnexpectedError for a refusal
   */
  async ask(load: SaltMap, by: AskedBy, id?: string): Promise<SaltValue> {
    const answer = unpack(await this.send(clearEnvelope(load), by, id));
    refuse(answer);
    return answer;
  }
}

const LIMITED: ReadonlySet<string> = new Set(['limit', 'rests', 'stalled']);

function unanswered(outcome: Exclude<RequestOutcome, { kind: 'reply' }>): NetapiError {
  const why = outcome.kind === 'drop' ? 'deadline' : outcome.why;
  const text = LIMITED.has(why) ? 'The master has too many requests in hand.' : AWAY;
  return new NetapiError(503, text, { retryAfter: RETRY_AFTER_S });
}

const STATUS: ReadonlyMap<string, number> = new Map([
  ['AuthenticationError', 401],
  ['AuthorizationError', 401],
  ['EauthAuthenticationError', 401],
  ['TokenAuthenticationError', 401],
  ['UserAuthenticationError', 401],
  ['SaltInvocationError', 400],
  ['SaltReqTimeoutError', 503],
  ['SaltDaemonNotRunning', 503],
]);

/** Throws the error of an answer, with the status that a stock salt-api gives it. */
export function refuse(answer: SaltValue): void {
  if (!isMap(answer)) return;
  const error = answer.get('error');
  if (error === undefined || error === null) return;
  const given = mapIn(answer, 'error');
  const name = given === undefined ? '' : (textOf(given, 'name') ?? '');
  const text = given === undefined ? pyStr(error) : (textOf(given, 'message') ?? '');
  throw refusalNamed(name, text);
}

/** The refusal that an error of the master is. */
export function refusalNamed(name: string, text: string, cause?: unknown): Error {
  const status = STATUS.get(name);
  if (status === undefined) return new UnexpectedError(text, { cause });
  return new NetapiError(status, text, {
    cause,
    refusal: name,
    ...(status === 503 ? { retryAfter: RETRY_AFTER_S } : {}),
  });
}
