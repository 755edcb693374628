import {
  type Bucket,
  type Bus,
  BusError,
  changeValue,
  escapeKey,
  isRecord,
  isToken,
  REPLY_INBOX,
} from '@brine/bus';
import { type Answering, ask, RENEWALS, serve } from '@brine/bus/rpc';
import { isMap, mapOf, type SaltValue, textOf } from '@brine/wire';

const CLAIM = 'brine.requests.claim';
const ANSWERED = 'brine.requests.answered';

/**
 * Times in which the same bytes are the same publish, unless they name their command. A stock CLI
 * sends them again 5 s after the first time, up to three times (Salt: salt/client LocalClient.pub).
 * All but the last two are in ms.
 */
export const SAME_BYTES = {
  /** Another gateway may take up an unanswered request. */
  unansweredMs: 20_000,
  /**
   * An answer that may not have reached its CLI, because the CLI or the gateway ended, waits for
   * the next try: 5 s at most. Two equal commands in that time, with a gateway killed between them,
   * count as one. A try without a gateway waits in its socket until one starts. Requests that are
   * read within {@link SAME_BYTES.earlyMs} of a start have `unansweredMs`.
   */
  unheardMs: 6_000,
  /**
   * After this time the CLI is about to time out, or has. Includes the time in which the request
   * was unread while the gateway was paused.
   */
  slowMs: 4_500,
  /**
   * A slow answer is given to the next try too: that came 1.2 s later on a starved machine. A host
   * with such a slow publish starts no other CLI in that time.
   */
  slowKeptMs: 2_500,
  /** An answer is kept until it is known which CLIs received it: the others retry at once. */
  untilKnownMs: 1_000,
  /**
   * A request that is read so soon after the start may have been sent long before, so it counts as
   * slow (found by chaos: 10 s without a gateway). libzmq reconnects every 0.1 s. Not longer: if
   * the same command came soon after, it would get the old job and no returns.
   */
  earlyMs: 500,
  /** Requests in the sockets of a paused gateway are read within this time after the pause. */
  readAfterPauseMs: 1_000,
  /** Time that a gateway waits for a worker that knows the ids: one hop and one read. */
  askMs: 400,
  /** Each further wait is twice as long, up to this: on a starved host a hop takes seconds. */
  askMostMs: 3_200,
  /**
   * A dead gateway is detected within this time; NATS reports at once that it has no subscriber.
   */
  presenceMs: 150,
  /** Answers, and ids of answered requests, that a gateway remembers. */
  maxKept: 1_000,
  /** More requests with the same bytes within seconds are no retries of a CLI. */
  maxAskers: 64,
} as const;

/** A gateway's facts about the bytes whose id it requests. */
export interface ClaimedAs {
  /** The gateway has just started: the bytes may have been sent long before. */
  readonly early: boolean;
  /** The bytes belong to one command, however it was answered and however late they arrive. */
  readonly named: boolean;
  /**
   * Age of the bytes, ms, as far as it is known: the claim may have waited for its turn, or for a
   * worker.
   */
  readonly waitedMs: number;
}

/** The request of a gateway for the id under which the bytes of this hash are sent. */
interface RequestClaim extends Partial<ClaimedAs> {
  /** Hash of the request's bytes, hex. */
  readonly hash: string;
  /** The id to use if these bytes have no unanswered one. */
  readonly id: string;
  /** The gateway's process, its {@link RequestSender.id}; it joins its own requests by itself. */
  readonly gateway: string;
  /** For an answered request: all askers have received the answer, so none asks again. */
  readonly heard?: boolean;
  /**
   * For an answered request: time in which its CLI may ask again, as it may have missed the answer,
   * in ms.
   */
  readonly keptMs?: number;
}

interface Note {
  readonly id: string;
  /** The id in the claim. */
  readonly claimed?: string;
  readonly gateway: string;
  /** Time of the claim, or of the answer, in ms since 1970. */
  readonly at: number;
  readonly answered: boolean;
  readonly heard?: boolean;
  readonly keptMs?: number;
}

/** The ids of unanswered publish requests, for one gateway: workers store them. */
export class RequestIds {
  readonly #bus: Bus;
  readonly #gateway: string;
  readonly #timeoutMs: number;

  /** `gateway`: its process, the {@link RequestSender.id}. */
  constructor(bus: Bus, gateway: string, timeoutMs: number = SAME_BYTES.askMs) {
    this.#bus = bus;
    this.#gateway = gateway;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * The id under which the bytes of this hash are sent, so that the same bytes run no second job
   * after a gateway was killed.
   * @throws BusError as {@link ask}.
   */
  async claim(hash: string, id: string, as: ClaimedAs, waitMs = this.#timeoutMs): Promise<string> {
    const answer = await this.#ask(CLAIM, { hash, id, ...as }, waitMs);
    const known = isMap(answer) ? textOf(answer, 'id') : undefined;
    if (known === undefined) throw new BusError('BUS_BAD_MESSAGE', 'no request id in the answer');
    return known;
  }

  /**
   * Reports that the request was answered. From now on the same bytes are a new request. If its CLI
   * may have missed the answer, they are new only after `keptMs`: the CLI may ask another gateway
   * meanwhile.
   * @throws BusError as {@link ask}.
   */
  async answered(hash: string, id: string, keptMs = 0): Promise<void> {
    await this.#ask(ANSWERED, { hash, id, ...(keptMs > 0 ? { keptMs } : {}) });
  }

  /**
   * Reports that all askers received the answer, so that none asks again.
   * @throws BusError as {@link ask}.
   */
  async delivered(hash: string, id: string): Promise<void> {
    await this.#ask(ANSWERED, { hash, id, heard: true });
  }

  #ask(
    subject: string,
    about: Omit<RequestClaim, 'gateway'>,
    waitMs = this.#timeoutMs,
  ): Promise<SaltValue> {
    const claim: RequestClaim = { ...about, gateway: this.#gateway };
    return ask(this.#bus, subject, mapOf({ ...claim }), waitMs);
  }
}

/**
 * Stores the ids of unanswered publish requests in `brine_requests` for gateways, which have no
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
  return changeValue(requests, key, async (entry) => {
    const note = entry === undefined ? undefined : readNote(entry.value);
    const isOpen = note !== undefined && (await isTakenUp(bus, note, claim));
    const id = isOpen ? note.id : claim.id;
    const { id: claimed, gateway } = claim;
    const value = pack({ id, claimed, gateway, at: Date.now(), answered: false });
    return { answer: id, value };
  });
}

/** True if a claim is for the request of the note: a repeated claim, or another gateway's. */
async function isTakenUp(bus: Bus, note: Note, claim: RequestClaim): Promise<boolean> {
  if (claim.named === true) return true;
  // A repeated claim: the answer to the first came too late, or never.
  if (note.gateway === claim.gateway) return note.claimed === claim.id;
  // A note from the future: a clock was set back since, so its age is unknown.
  const sinceMs = Math.abs(Date.now() - note.at);
  // Age at the arrival of the bytes. Below 0 they came before the answer, so it is theirs too.
  const age = sinceMs - (claim.waitedMs ?? 0);
  if (!note.answered) return age < SAME_BYTES.unansweredMs;
  if (age < (note.keptMs ?? 0)) return true;
  if (note.heard === true) return false;
  const untilMs = claim.early === true ? SAME_BYTES.unansweredMs : SAME_BYTES.unheardMs;
  return age < untilMs && (await isGone(bus, note.gateway));
}

/** True if a gateway no longer listens for messages of workers. */
async function isGone(bus: Bus, gateway: string): Promise<boolean> {
  if (!isToken(gateway)) return true; // Not the name of a gateway.
  try {
    // An empty list of claims: a living gateway has nothing to do for it.
    const subject = `${REPLY_INBOX}.${gateway}.${RENEWALS}`;
    await bus.inbox.request(subject, '', { timeoutMs: SAME_BYTES.presenceMs });
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
  // Only this request: a newer one of the same bytes stays open.
  if (entry === undefined || note === undefined || note.id !== claim.id) return;
  const { gateway, heard: delivered = false, keptMs } = claim;
  const kept = keptMs === undefined ? {} : { keptMs };
  const answered = {
    id: note.id,
    gateway,
    at: Date.now(),
    answered: true,
    heard: delivered,
    ...kept,
  };
  // A gateway reports this as it ends: the answer is older, so its time stays.
  const value = delivered && note.answered ? { ...note, heard: delivered } : answered;
  // Changed meanwhile, so it already belongs to another request.
  await requests.update(key, pack(value), entry.revision);
}

function readClaim(question: SaltValue): RequestClaim {
  const map = isMap(question) ? question : undefined;
  const text = (name: string): string | undefined =>
    map === undefined ? undefined : textOf(map, name);
  const [hash, id, gateway] = [text('hash'), text('id'), text('gateway')];
  if (hash === undefined || id === undefined || gateway === undefined) {
    throw new BusError('BUS_BAD_MESSAGE', 'a claim needs hash, id and gateway');
  }
  const is = (name: string): boolean => map?.get(name) === true;
  // A gateway of an earlier release does not send times.
  const ms = (name: 'waitedMs' | 'keptMs'): Partial<RequestClaim> => {
    const value = map?.get(name);
    return typeof value === 'number' && value > 0 ? { [name]: value } : {};
  };
  const flags = { early: is('early'), named: is('named'), heard: is('heard') };
  return { hash, id, gateway, ...flags, ...ms('waitedMs'), ...ms('keptMs') };
}

function pack(note: Note): Buffer {
  return Buffer.from(JSON.stringify(note));
}

function readNote(bytes: Uint8Array): Note | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    if (!isRecord(value)) return undefined;
    const { id, claimed, gateway, at, answered, heard: delivered, keptMs } = value;
    const texts = typeof id === 'string' && typeof gateway === 'string';
    if (!texts || typeof at !== 'number' || typeof answered !== 'boolean') return undefined;
    const claim = typeof claimed === 'string' ? { claimed } : {};
    const kept = typeof keptMs === 'number' ? { keptMs } : {};
    return { id, ...claim, gateway, at, answered, heard: delivered === true, ...kept };
  } catch {
    return undefined; // not written by us: treated as missing
  }
}
