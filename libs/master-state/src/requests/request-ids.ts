import type { Bucket } from '@brine/bus';
import type { Bus } from '@brine/bus';
import { BusError } from '@brine/bus';
import { escapeKey } from '@brine/bus';
import { isRecord } from '@brine/bus';
import { isToken, REPLY_INBOX } from '@brine/bus';
import type { Answering } from '@brine/bus/rpc';
import { ask, serve } from '@brine/bus/rpc';
import { RENEWALS } from '@brine/bus/rpc';
import type { SaltValue } from '@brine/wire';
import { isMap, mapOf, textOf } from '@brine/wire';

const CLAIM = 'brine.requests.claim';
const ANSWERED = 'brine.requests.answered';

/**
 * How long an unanswered request may be taken up again, ms: a stock CLI sends the same bytes after
 * 5 s, up to three times (Salt: salt/client LocalClient.pub).
 */
export const REQUEST_MEMORY_MS = 20_000;

/**
 * How long after its answer a request of a gateway that is gone may be taken up, ms: the answer may
 * have died with the gateway, and then the CLI sends the same bytes 5 s after the first time. Two
 * commands alike within that time, and a gateway killed between them, are taken for one.
 */
export const REQUEST_UNHEARD_MS = 6_000;

/** How long a gateway has to be found gone, ms; the server says at once that nobody listens. */
const PRESENCE_MS = 150;

/** What a gateway asks: the id under which the bytes of this hash are to be sent. */
export interface RequestClaim {
  /** Hash of the request's bytes, hex. */
  readonly hash: string;
  /** The id to use if nobody has an unanswered one. */
  readonly id: string;
  /** The gateway's process, its {@link RequestSender.id}; its own requests it joins by itself. */
  readonly gateway: string;
  /** Of an answered one: all who asked were there to hear the answer, so none asks again. */
  readonly heard?: boolean;
}

interface Note {
  readonly id: string;
  readonly gateway: string;
  /** Of the claim, or of the answer, in ms since 1970. */
  readonly at: number;
  readonly answered: boolean;
  readonly heard?: boolean;
}

/**
 * Asks for the id of a publish request, so that the same bytes sent again after a gateway was
 * killed run no second job.
 * @throws BusError as {@link ask}.
 */
export async function claimRequestId(
  bus: Bus,
  claim: RequestClaim,
  timeoutMs: number,
): Promise<string> {
  const answer = await ask(bus, CLAIM, mapOf({ ...claim }), timeoutMs);
  const id = isMap(answer) ? textOf(answer, 'id') : undefined;
  if (id === undefined) throw new BusError('BUS_BAD_MESSAGE', 'no request id in the answer');
  return id;
}

/**
 * Tells that the request was answered: the same bytes are a new request from now on.
 * @throws BusError as {@link ask}.
 */
export async function requestAnswered(
  bus: Bus,
  claim: RequestClaim,
  timeoutMs: number,
): Promise<void> {
  await ask(bus, ANSWERED, mapOf({ ...claim }), timeoutMs);
}

/**
 * Keeps the ids of unanswered publish requests in `brine_requests` for gateways, which have no
 * rights to buckets: a gateway that could read from JetStream could have the answer written into a
 * stream. Served by every worker.
 */
export function serveRequestIds(bus: Bus, requests: Bucket): readonly Answering[] {
  return [
    serve(bus, CLAIM, async (question) => {
      const claim = readClaim(question);
      return mapOf({ id: await claimIn(bus, requests, claim) });
    }),
    serve(bus, ANSWERED, async (question) => {
      await answeredIn(requests, readClaim(question));
      return null;
    }),
  ];
}

async function claimIn(bus: Bus, requests: Bucket, claim: RequestClaim): Promise<string> {
  const key = escapeKey('publish', claim.hash);
  // Two gateways may ask at once; who loses the race looks again.
  for (let tries = 0; tries < 3; tries++) {
    const entry = await requests.get(key);
    const note = entry === undefined ? undefined : readNote(entry.value);
    const isOpen = note !== undefined && (await isTakenUp(bus, note, claim));
    const id = isOpen ? note.id : claim.id;
    const value = pack({ id, gateway: claim.gateway, at: Date.now(), answered: false });
    try {
      if (entry === undefined) await requests.create(key, value);
      else await requests.update(key, value, entry.revision);
      return id;
    } catch (error) {
      if (!(error instanceof BusError) || error.code !== 'BUS_CONFLICT') throw error;
    }
  }
  throw new BusError('BUS_BUSY', 'several gateways claim the same request');
}

/** Whether the same bytes at another gateway are the request that the note tells of. */
async function isTakenUp(bus: Bus, note: Note, claim: RequestClaim): Promise<boolean> {
  if (note.gateway === claim.gateway || note.heard === true) return false;
  // A note from the future: a clock was put back since, and it is of no known age.
  const age = Math.abs(Date.now() - note.at);
  if (!note.answered) return age < REQUEST_MEMORY_MS;
  return age < REQUEST_UNHEARD_MS && (await isGone(bus, note.gateway));
}

/** Whether nobody listens any more where a gateway takes the words of workers. */
async function isGone(bus: Bus, gateway: string): Promise<boolean> {
  if (!isToken(gateway)) return true; // No name of a gateway: nobody can be asked.
  try {
    // An empty list of claims: a gateway that lives has nothing to do and nothing to say.
    const subject = `${REPLY_INBOX}.${gateway}.${RENEWALS}`;
    await bus.inbox.request(subject, '', { timeoutMs: PRESENCE_MS });
    return false;
  } catch (error) {
    if (error instanceof BusError && error.code === 'BUS_NO_ANSWER') return true;
    if (error instanceof BusError && error.code === 'BUS_TIMEOUT') return false;
    throw error;
  }
}

async function answeredIn(requests: Bucket, claim: RequestClaim): Promise<void> {
  const key = escapeKey('publish', claim.hash);
  const entry = await requests.get(key);
  const note = entry === undefined ? undefined : readNote(entry.value);
  // Only the request it was: a newer one of the same bytes stays open.
  if (entry === undefined || note === undefined || note.id !== claim.id) return;
  try {
    const { gateway, heard = false } = claim;
    const answered = { id: note.id, gateway, at: Date.now(), answered: true, heard };
    await requests.update(key, pack(answered), entry.revision);
  } catch (error) {
    // Changed meanwhile: then it is another request's already.
    if (!(error instanceof BusError) || error.code !== 'BUS_CONFLICT') throw error;
  }
}

function readClaim(question: SaltValue): RequestClaim {
  const map = isMap(question) ? question : undefined;
  const text = (name: string): string | undefined =>
    map === undefined ? undefined : textOf(map, name);
  const [hash, id, gateway] = [text('hash'), text('id'), text('gateway')];
  if (hash === undefined || id === undefined || gateway === undefined) {
    throw new BusError('BUS_BAD_MESSAGE', 'a claim needs hash, id and gateway');
  }
  return { hash, id, gateway, heard: map?.get('heard') === true };
}

function pack(note: Note): Buffer {
  return Buffer.from(JSON.stringify(note));
}

function readNote(bytes: Uint8Array): Note | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    if (!isRecord(value)) return undefined;
    const { id, gateway, at, answered, heard } = value;
    const texts = typeof id === 'string' && typeof gateway === 'string';
    if (!texts || typeof at !== 'number' || typeof answered !== 'boolean') return undefined;
    return { id, gateway, at, answered, heard: heard === true };
  } catch {
    return undefined; // not written by us: as if it were not there
  }
}
