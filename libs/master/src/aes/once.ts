import { digestOf } from '@brine/crypt';
import { type SaltValue, WireError } from '@brine/wire';
import type { AesRequest } from '../channel.ts';
import { SESSION_KEY_VERSION } from '../channel.ts';
import { MasterUnavailableError } from '../errors.ts';
import type { MasterPorts } from '../ports/ports.ts';

/**
 * The same for every sending of one request: a replay of it on another connection, which is another
 * request to the gateway, still carries its nonce. Undefined where nothing binds it to its sender.
 */
export function onceKey({ version, minion, scan, body }: AesRequest): string | undefined {
  if (version < SESSION_KEY_VERSION || minion === undefined) return undefined;
  const nonce = scan.bytes('nonce');
  // No stock minion leaves its nonce out; then the load itself is what comes again.
  const what = nonce === undefined || nonce.length === 0 ? body : nonce;
  return digestOf('sha256', [Buffer.from(`${minion}\0`), what]).toString('base64url');
}

/**
 * Does the work of a request once, whichever connection or worker it comes by again. A repetition
 * gets the first answer: a minion that lost the answer sends the same bytes
 * (salt/transport/zeromq.py), and so does an attacker with a capture. Neither changes anything.
 *
 * The request is noted as begun before the work and as done after it. If a worker dies in between,
 * nothing is lost: the next try of its gateway goes on, and after a while any other.
 */
export async function onceOnly(
  ports: MasterPorts,
  request: AesRequest,
  work: () => Promise<SaltValue>,
): Promise<SaltValue> {
  const key = onceKey(request);
  if (key === undefined) return work();
  const by = request.request.id;
  const first = await ports.once.begin(key, by);
  switch (first.kind) {
    case 'done':
      ports.count('aes_came_again');
      return first.reply;
    case 'lapsed':
      ports.count('aes_came_too_late');
      return '';
    case 'under-way':
      // Without an answer the gateway delivers it again. By then it is done, or it can be begun.
      throw new MasterUnavailableError('the same request is still under way');
    case 'begun':
      return noteDone(ports, key, by, work);
  }
}

/** The stream of events knows what it has by its id for two minutes; some less, for its way. */
const EVENTS_KNOWN_MS = 100_000;

/**
 * Gives the events of a request to the stream if this is its first sending, or the stream still
 * knows the first. Minions send many events, so that this is one write beside theirs: the note is
 * there before the events are, and goes where they could not be stored.
 *
 * @param store what it returns is returned; true where nothing was to be done
 */
export async function eventsOnce(
  ports: MasterPorts,
  request: AesRequest,
  store: () => Promise<boolean>,
): Promise<boolean> {
  const key = onceKey(request);
  if (key === undefined) return store();
  const by = request.request.id;
  if ((await ports.once.note(key, by)) > EVENTS_KNOWN_MS) {
    ports.count('aes_came_again');
    return true;
  }
  try {
    return await store();
  } catch (fault) {
    await ports.once.unnote(key, by).catch((cause: unknown) => {
      if (!(cause instanceof MasterUnavailableError)) throw cause;
      ports.count('aes_once_not_noted');
    });
    throw fault;
  }
}

async function noteDone(
  ports: MasterPorts,
  key: string,
  by: string,
  work: () => Promise<SaltValue>,
): Promise<SaltValue> {
  let reply: SaltValue;
  try {
    reply = await work();
  } catch (fault) {
    // What is malformed stays so; all else may go well at the next try.
    if (fault instanceof WireError) await ports.once.done(key, by, '');
    throw fault;
  }
  try {
    await ports.once.done(key, by, reply);
  } catch (cause) {
    // It is done, and some work may not be done twice: that it comes again is less likely.
    if (!(cause instanceof MasterUnavailableError)) throw cause;
    ports.count('aes_once_not_noted');
  }
  return reply;
}
