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
 * How long the same bytes are the same publish, where they do not name their command. A stock CLI
 * sends them again 5 s after the first time, up to three times (Salt: salt/client LocalClient.pub).
 * All but the last two are in ms.
 */
export const SAME_BYTES = {
  /** An unanswered request may be taken up by another gateway. */
  unansweredMs: 20_000,
  /**
   * An answer whose CLI had hung up, or may have died with its gateway, waits for the next try,
   * which comes 5 s later at the latest. Two commands alike within that time, and a gateway killed
   * between them, are taken for one. A next try that found no gateway lies in its socket until one
   * is there: what is read within {@link SAME_BYTES.earlyMs} of a start has `unansweredMs`.
   */
  unheardMs: 6_000,
  /**
   * An answer that took so long comes when the CLI is about to hang up, or has. Counted with the
   * time that the request lay unread while the gateway was paused.
   */
  slowMs: 4_500,
  /**
   * A slow answer is given to the next try too: that came 1.2 s later on a starved machine. A host
   * on which a publish takes so long starts no other CLI in that time.
   */
  slowKeptMs: 2_500,
  /** An answer is kept until it is known which CLIs heard it: one that did not tries at once. */
  untilKnownMs: 1_000,
  /**
   * A request read so soon after the start may have been sent long before, so it counts as slow
   * (found by chaos: 10 s without a gateway). libzmq connects again each 0.1 s. Not longer: if the
   * same command came again soon after, it would get the old job and no returns.
   */
  earlyMs: 500,
  /** What lay in the sockets of a paused gateway is read within this after the pause. */
  readAfterPauseMs: 1_000,
  /** A gateway waits so long for a worker that knows the ids: one hop and one read. */
  askMs: 400,
  /** Each further wait is twice as long, up to this: on a starved host a hop takes seconds. */
  askMostMs: 3_200,
  /** Another gateway is found gone within this; the server says at once that none listens. */
  presenceMs: 150,
  /** Answers, and ids of answered requests, that a gateway remembers. */
  maxKept: 1_000,
  /** More with the very same bytes within seconds is no CLI that tries again. */
  maxAskers: 64,
} as const;

/** What a gateway knows of the bytes whose id it asks for. */
export interface ClaimedAs {
  /** The gateway has just begun: they may have been sent long before it read them. */
  readonly early: boolean;
  /** They are those of one command, whatever was answered and however late they come. */
  readonly named: boolean;
  /**
   * How long ago they came, ms, as far as that is known: the claim may have waited for its turn, or
   * for a worker.
   */
  readonly waitedMs: number;
}

/** What a gateway asks: the id under which the bytes of this hash are to be sent. */
interface RequestClaim extends Partial<ClaimedAs> {
  /** Hash of the request's bytes, hex. */
  readonly hash: string;
  /** The id to use if these bytes have no unanswered one. */
  readonly id: string;
  /** The gateway's process, its {@link RequestSender.id}; its own requests it joins by itself. */
  readonly gateway: string;
  /** Of an answered one: all that asked were there to hear the answer, so none asks again. */
  readonly heard?: boolean;
  /** Of an answered one: so long its CLI may ask again, for it may not have heard, in ms. */
  readonly keptMs?: number;
}

interface Note {
  readonly id: string;
  /** The id that the claim came with. */
  readonly claimed?: string;
  readonly gateway: string;
  /** Of the claim, or of the answer, in ms since 1970. */
  readonly at: number;
  readonly answered: boolean;
  readonly heard?: boolean;
  readonly keptMs?: number;
}

/** The ids of unanswered publish requests, for one gateway: workers know them. */
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
   * The id to send the bytes of this hash under: so the same bytes, sent again after a gateway was
   * killed, run no second job.
   * @throws BusError as {@link ask}.
   */
  async claim(hash: string, id: string, as: ClaimedAs, waitMs = this.#timeoutMs): Promise<string> {
    const answer = await this.#ask(CLAIM, { hash, id, ...as }, waitMs);
    const known = isMap(answer) ? textOf(answer, 'id') : undefined;
    if (known === undefined) throw new BusError('BUS_BAD_MESSAGE', 'no request id in the answer');
    return known;
  }

  /**
   * Tells that the request was answered. From now on the same bytes are a new request. If its CLI
   * may have hung up before it heard the answer, they are that only after `keptMs`: it may ask
   * another gateway meanwhile.
   * @throws BusError as {@link ask}.
   */
  async answered(hash: string, id: string, keptMs = 0): Promise<void> {
    await this.#ask(ANSWERED, { hash, id, ...(keptMs > 0 ? { keptMs } : {}) });
  }

  /**
   * Tells that all that asked were there to hear the answer, so that none asks again.
   * @throws BusError as {@link ask}.
   */
  async heard(hash: string, id: string): Promise<void> {
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
  return changeValue(requests, key, async (entry) => {
    const note = entry === undefined ? undefined : readNote(entry.value);
    const isOpen = note !== undefined && (await isTakenUp(bus, note, claim));
    const id = isOpen ? note.id : claim.id;
    const { id: claimed, gateway } = claim;
    const value = pack({ id, claimed, gateway, at: Date.now(), answered: false });
    return { answer: id, value };
  });
}

/** Whether a claim is for the request of the note: the claim itself again, or another gateway's. */
async function isTakenUp(bus: Bus, note: Note, claim: RequestClaim): Promise<boolean> {
  if (claim.named === true) return true;
  // Its claim once more: the answer to the first came too late, or never.
  if (note.gateway === claim.gateway) return note.claimed === claim.id;
  // A note from the future: a clock was put back since, and it is of no known age.
  const sinceMs = Math.abs(Date.now() - note.at);
  // As the bytes came. Below none: they came before the answer, so it is theirs as well.
  const age = sinceMs - (claim.waitedMs ?? 0);
  if (!note.answered) return age < SAME_BYTES.unansweredMs;
  if (age < (note.keptMs ?? 0)) return true;
  if (note.heard === true) return false;
  const untilMs = claim.early === true ? SAME_BYTES.unansweredMs : SAME_BYTES.unheardMs;
  return age < untilMs && (await isGone(bus, note.gateway));
}

/** Whether a gateway has stopped to listen for the words of workers. */
async function isGone(bus: Bus, gateway: string): Promise<boolean> {
  if (!isToken(gateway)) return true; // No name of a gateway: none can be asked.
  try {
    // An empty list of claims: a gateway that lives has nothing to do and nothing to say.
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
  // Only the request it was: a newer one of the same bytes stays open.
  if (entry === undefined || note === undefined || note.id !== claim.id) return;
  const { gateway, heard = false, keptMs } = claim;
  const kept = keptMs === undefined ? {} : { keptMs };
  const answered = { id: note.id, gateway, at: Date.now(), answered: true, heard, ...kept };
  // A gateway reports this as it ends: the answer is older, so its time stays.
  const value = heard && note.answered ? { ...note, heard } : answered;
  // Changed meanwhile: then it is another request's already.
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
  // A gateway of an earlier release does not say how long.
  const ms = (name: 'waitedMs' | 'keptMs'): Partial<RequestClaim> => {
    const value = map?.get(name);
    return typeof value === 'number' && value > 0 ? { [name]: value } : {};
  };
  const said = { early: is('early'), named: is('named'), heard: is('heard') };
  return { hash, id, gateway, ...said, ...ms('waitedMs'), ...ms('keptMs') };
}

function pack(note: Note): Buffer {
  return Buffer.from(JSON.stringify(note));
}

function readNote(bytes: Uint8Array): Note | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    if (!isRecord(value)) return undefined;
    const { id, claimed, gateway, at, answered, heard, keptMs } = value;
    const texts = typeof id === 'string' && typeof gateway === 'string';
    if (!texts || typeof at !== 'number' || typeof answered !== 'boolean') return undefined;
    const claim = typeof claimed === 'string' ? { claimed } : {};
    const kept = typeof keptMs === 'number' ? { keptMs } : {};
    return { id, ...claim, gateway, at, answered, heard: heard === true, ...kept };
  } catch {
    return undefined; // not written by us: as if it were not there
  }
}
