import { digestOf } from '@brine/crypt';
import { type SaltValue, WireError } from '@brine/wire';
import type { AesRequest } from '../channel.ts';
import { SESSION_KEY_VERSION } from '../channel.ts';
import { MasterUnavailableError } from '../errors.ts';
import type { MasterPorts } from '../ports/ports.ts';

/**
 * The same for every copy of a request: a replay on another connection is another request for the
 * gateway, but has the same nonce. Undefined if nothing binds the request to its sender.
 */
export function onceKey({ version, minion, scan, body }: AesRequest): string | undefined {
  if (version < SESSION_KEY_VERSION || minion === undefined) return undefined;
  const nonce = scan.bytes('nonce');
  // Stock minions always send a nonce; without it the load itself identifies the request.
  const what = nonce === undefined || nonce.length === 0 ? body : nonce;
  return digestOf('sha256', [Buffer.from(`${minion}\0`), what]).toString('base64url');
}

/**
 * Does the work of a request once, on whichever connection or worker it arrives again. A repetition
 * gets the first answer. A minion that missed the answer sends the same bytes
 * (salt/transport/zeromq.py), and so does an attacker with a capture; neither changes anything.
 *
 * The request is recorded as begun before the work and as done after it. If a worker dies in
 * between, nothing is lost: the next try of its gateway resumes it, and later any other.
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

/** The stream remembers ids of events for two minutes; less, for the time in transit. */
const EVENTS_KNOWN_MS = 100_000;

/**
 * Appends the events of a request if this is its first copy, or the stream still remembers the
 * first. Minions send many events, so this is one write beside theirs: the note precedes the
 * events, and is removed if they could not be stored.
 *
 * @param store returns the result; true if nothing was to be done
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
    // A malformed request stays malformed; anything else may succeed at the next try.
    if (fault instanceof WireError) await ports.once.done(key, by, '');
    throw fault;
  }
  try {
    await ports.once.done(key, by, reply);
  } catch (cause) {
    // An error would make the gateway repeat the work, which is done and may not be repeatable.
    if (!(cause instanceof MasterUnavailableError)) throw cause;
    ports.count('aes_once_not_noted');
  }
  return reply;
}
