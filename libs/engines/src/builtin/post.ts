import { askWeb } from '@brine/outgoing';
import { NotTakenError } from './deliver.ts';

/** A request that delivers an event. */
export interface Post {
  readonly url: string;
  readonly method: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  readonly verify: boolean;
  readonly caBundle?: string | undefined;
  readonly timeoutMs: number;
}

const CONNECT_MS = 10_000;
/** Only the status of an answer counts. */
const ANSWER_MAX_BYTES = 1024 * 1024;

/**
 * Refusals that may be temporary: timeout, too early, too many; and errors of the server itself.
 */
const RETRIED = new Set([408, 425, 429]);

/**
 * Sends a request. @throws NotTakenError if the server refuses the event; Error if a retry may
 * succeed
 */
export async function post({ caBundle, ...request }: Post): Promise<void> {
  const { status, reason } = await askWeb({
    ...request,
    ...(caBundle === undefined ? {} : { caBundle }),
    connectTimeoutMs: CONNECT_MS,
    maxBytes: ANSWER_MAX_BYTES,
  });
  if (status >= 200 && status < 300) return;
  const text = `the server answered ${status} ${reason}`;
  if (status >= 400 && status < 500 && !RETRIED.has(status)) throw new NotTakenError(text);
  throw new Error(text);
}
