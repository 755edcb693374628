import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import type { StreamInfo } from '../connection/js-api.ts';
import { askJetStream, streamInfo } from '../connection/js-api.ts';
import type { StreamName } from '../subjects/names.ts';
import { STREAMS } from '../subjects/names.ts';
import { isPosition, markOf, parsePosition, type Place } from '../timeline/position.ts';
import { directGet, firstSince } from './direct-get.ts';
import { durableReaders } from './reader-lags.ts';

/** The fill of a stream. */
export interface StreamUsage {
  readonly stream: StreamName;
  readonly messages: number;
  readonly bytes: number;
  readonly maxBytes: number;
  /** The used part of `maxBytes`, from 0 to 1. */
  readonly share: number;
}

/** How much a trim removed. */
export interface Trimmed {
  readonly stream: StreamName;
  readonly messages: number;
}

const KEEP_MS = 15 * 60_000;
const FIRST_TIMEOUT_MS = 5_000;
/** A body is stored before its message, by no longer than an append may take. */
const BODY_LEAD_MS = 10 * 60_000;

/**
 * A filling stream drops old messages first, until it uses only this share. So a warning at 70 %
 * means that a reader lags.
 */
const PAST_SHARE = 0.4;

/**
 * How long messages are kept that all readers have acknowledged, however full their stream is.
 * Publishers read back 30 s; no reader reads back further by itself.
 */
const KEEP_AT_LEAST = [
  { share: 0.6, ms: 30_000 },
  { share: PAST_SHARE, ms: 120_000 },
] as const;

/**
 * Up to this share messages are kept for a reader that keeps its place itself and may lose events.
 * Beyond it, room for the messages of minions comes first.
 */
const NEEDED_SHARE = 0.6;

/** The fill of the streams; event-bus, their owner, warns at 70 %. */
export async function streamUsage(bus: Bus): Promise<readonly StreamUsage[]> {
  const usage: StreamUsage[] = [];
  for (const stream of Object.values(STREAMS)) {
    const info = await streamInfo(bus, stream);
    if (info === undefined) continue;
    const { messages, bytes } = info;
    usage.push({ stream, messages, bytes, maxBytes: maxBytesOf(info), share: shareOf(info) });
  }
  return usage;
}

/**
 * Removes messages that every durable reader has acknowledged and that are older than `keepMs`, by
 * default 15 minutes. If a stream, or the large bodies that its messages refer to, use more than 40
 * % of their room, the oldest messages are removed until they do not. None younger than 2 minutes
 * is removed, or 30 s above 60 %. A stream without a durable reader keeps everything. Large bodies
 * are removed when no message refers to them. Messages after one of the positions `needed` stay
 * while the stream is not more than 60 % full. Only the owner of the streams does this.
 * @throws BusError `BUS_REFUSED`, `BUS_FORBIDDEN`, and as `Inbox.request` does.
 */
export async function trimStreams(
  bus: Bus,
  options: { readonly keepMs?: number; readonly needed?: readonly string[] } = {},
): Promise<readonly Trimmed[]> {
  const keepMs = options.keepMs ?? KEEP_MS;
  const trimmed: Trimmed[] = [];
  const needed = await neededFrom(bus, options.needed ?? []);
  const bodies = await streamInfo(bus, STREAMS.keptBodies);
  const pressure = bodies === undefined ? undefined : await pressureOf(bus, bodies);
  for (const stream of [STREAMS.events, STREAMS.publications] as const) {
    const info = await streamInfo(bus, stream);
    if (info === undefined || info.messages === 0) continue;
    const floor = await acknowledgedUpTo(bus, stream, info);
    if (floor === undefined) continue;
    const old = await firstSince(bus, stream, Date.now() - keepMs, info);
    const excess = await firstToKeep(bus, stream, info, pressure);
    const share = Math.max(shareOf(info), pressure?.share ?? 0);
    const kept = share > NEEDED_SHARE ? Infinity : needed[stream];
    trimmed.push(await purge(bus, stream, Math.min(floor + 1, kept, Math.max(old, excess)), info));
  }
  if (bodies !== undefined && bodies.messages > 0) {
    // A body without a referring message was never finished, or its message is gone.
    const before = Date.now() - Math.min(keepMs, KEEP_MS, leastAt(shareOf(bodies)));
    const oldest = Math.min(before, await oldestReference(bus)) - BODY_LEAD_MS;
    const upTo = await firstSince(bus, STREAMS.keptBodies, oldest, bodies);
    trimmed.push(await purge(bus, STREAMS.keptBodies, upTo, bodies));
  }
  return trimmed.filter(({ messages }) => messages > 0);
}

/** The first sequence of each stream that comes after one of these positions. */
async function neededFrom(
  bus: Bus,
  positions: readonly string[],
): Promise<{ readonly EVENTS: number; readonly PUBLICATIONS: number }> {
  const first = { EVENTS: Infinity, PUBLICATIONS: Infinity };
  if (positions.length === 0) return first;
  const [events, publications] = await Promise.all([
    streamInfo(bus, STREAMS.events),
    streamInfo(bus, STREAMS.publications),
  ]);
  if (events === undefined || publications === undefined) return first;
  const mark = markOf({ events: events.incarnation, publications: publications.incarnation });
  for (const position of positions.filter(isPosition).map(parsePosition)) {
    // A position in streams that are gone needs nothing any more.
    if (position.mark !== mark) continue;
    first.EVENTS = Math.min(first.EVENTS, nextOf(position.events));
    first.PUBLICATIONS = Math.min(first.PUBLICATIONS, nextOf(position.publications));
  }
  return first;
}

function nextOf({ seq, index }: Place): number {
  return index === undefined ? seq + 1 : seq;
}

/** The messages to remove so that the large bodies have room. */
interface Pressure {
  /** Messages stored before this time, in ms since 1970. */
  readonly beforeMs: number;
  readonly share: number;
}

/** Large bodies that fill their stream are removed with the messages that refer to them. */
async function pressureOf(bus: Bus, bodies: StreamInfo): Promise<Pressure | undefined> {
  const excess = excessOf(bodies);
  if (excess === 0) return undefined;
  const place = { seq: bodies.firstSeq + excess };
  const first = await directGet(bus, STREAMS.keptBodies, place, FIRST_TIMEOUT_MS);
  // Pieces lie one after the other, so there is one; otherwise the next trim does it.
  return first && { beforeMs: first.timeUs / 1_000, share: shareOf(bodies) };
}

/** The first sequence to keep if there is too little room; 0 if there is enough. */
async function firstToKeep(
  bus: Bus,
  stream: StreamName,
  info: StreamInfo,
  pressure: Pressure | undefined,
): Promise<number> {
  const excess = excessOf(info);
  if (excess === 0 && pressure === undefined) return 0;
  const share = Math.max(shareOf(info), pressure?.share ?? 0);
  const youngest = await firstSince(bus, stream, Date.now() - leastAt(share), info);
  const referring =
    pressure === undefined ? 0 : await firstSince(bus, stream, pressure.beforeMs, info);
  return Math.min(youngest, Math.max(excess === 0 ? 0 : info.firstSeq + excess, referring));
}

/**
 * The number of excess messages, oldest first. Messages of a stream have similar sizes; the next
 * trim corrects the rest.
 */
export function excessOf(info: Pick<StreamInfo, 'messages' | 'bytes' | 'config'>): number {
  const share = shareOf(info);
  return share <= PAST_SHARE ? 0 : Math.ceil(info.messages * (1 - PAST_SHARE / share));
}

function maxBytesOf(info: Pick<StreamInfo, 'config'>): number {
  return Number(info.config['max_bytes'] ?? -1);
}

function shareOf(info: Pick<StreamInfo, 'bytes' | 'config'>): number {
  const maxBytes = maxBytesOf(info);
  return maxBytes > 0 ? info.bytes / maxBytes : 0;
}

function leastAt(share: number): number {
  return KEEP_AT_LEAST.find((one) => share > one.share)?.ms ?? Infinity;
}

/** The last sequence that all durable readers are done with; undefined without such readers. */
async function acknowledgedUpTo(
  bus: Bus,
  stream: StreamName,
  info: StreamInfo,
): Promise<number | undefined> {
  const readers = await durableReaders(bus, stream);
  if (readers.length === 0) return undefined;
  return Math.min(
    ...readers.map(({ pending, unacknowledged, ackFloor }) => {
      // The floor of a reader of some subjects stays at its last message, even if it needs no more.
      return pending === 0 && unacknowledged === 0 ? info.lastSeq : ackFloor;
    }),
  );
}

async function oldestReference(bus: Bus): Promise<number> {
  let oldest = Infinity;
  for (const stream of [STREAMS.events, STREAMS.publications] as const) {
    const info = await streamInfo(bus, stream);
    if (info === undefined || info.messages === 0) continue;
    oldest = Math.min(oldest, Date.parse(info.firstTime));
  }
  return oldest;
}

async function purge(
  bus: Bus,
  stream: StreamName,
  before: number,
  info: StreamInfo,
): Promise<Trimmed> {
  if (before <= info.firstSeq) return { stream, messages: 0 };
  const answer = await askJetStream(bus, `STREAM.PURGE.${stream}`, { seq: before }, 30_000);
  if (!answer.ok) throw new BusError('BUS_REFUSED', `no purge of ${stream}: ${answer.text}`);
  return { stream, messages: Number(answer.value['purged'] ?? 0) };
}
