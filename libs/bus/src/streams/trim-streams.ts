import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import type { StreamInfo } from '../connection/js-api.ts';
import { askJetStream, streamInfo } from '../connection/js-api.ts';
import type { StreamName } from '../subjects/names.ts';
import { STREAMS } from '../subjects/names.ts';
import { directGet } from './direct-get.ts';
import { durableReaders } from './reader-lags.ts';

/** How full a stream is. */
export interface StreamUsage {
  readonly stream: StreamName;
  readonly messages: number;
  readonly bytes: number;
  readonly maxBytes: number;
  /** Of `maxBytes`, from 0 to 1. */
  readonly share: number;
}

/** How much a trim removed. */
export interface Trimmed {
  readonly stream: StreamName;
  readonly messages: number;
}

const KEEP_MS = 15 * 60_000;
const FIRST_TIMEOUT_MS = 5_000;
/** A body is stored before the message that refers to it, by no longer than an append may take. */
const BODY_LEAD_MS = 10 * 60_000;

/**
 * How long messages are kept that all readers have, by how full their stream is. A stream that
 * fills drops its past first, so a warning at 70 % means that a reader is behind. Publishers read
 * back 30 s; no reader reads back further.
 */
const KEEP_UNDER_PRESSURE = [
  { share: 0.6, ms: 30_000 },
  { share: 0.4, ms: 120_000 },
] as const;

/** How full the streams are; event-bus, their owner, warns at 70 %. */
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
 * Removes messages that every durable reader has acknowledged and that are older than `keepMs`: 15
 * minutes by default, less if the stream is more than 40 % full. Only the owner of the streams does
 * this. A stream without a durable reader keeps everything. Large bodies go when nothing refers to
 * them.
 * @throws BusError `BUS_REFUSED`, `BUS_FORBIDDEN`, and as `Inbox.request` does.
 */
export async function trimStreams(
  bus: Bus,
  options: { readonly keepMs?: number } = {},
): Promise<readonly Trimmed[]> {
  const keepMs = options.keepMs ?? KEEP_MS;
  const trimmed: Trimmed[] = [];
  for (const stream of [STREAMS.events, STREAMS.publications] as const) {
    const info = await streamInfo(bus, stream);
    if (info === undefined || info.messages === 0) continue;
    const floor = await acknowledgedUpTo(bus, stream, info);
    if (floor === undefined) continue;
    const before = Date.now() - Math.min(keepMs, keepAt(shareOf(info)));
    const young = await firstSince(bus, stream, before, info);
    trimmed.push(await purge(bus, stream, Math.min(floor + 1, young), info));
  }
  const bodies = await streamInfo(bus, STREAMS.keptBodies);
  if (bodies !== undefined && bodies.messages > 0) {
    const before = Date.now() - Math.min(keepMs, keepAt(shareOf(bodies)));
    const oldest = Math.min(before, await oldestReference(bus)) - BODY_LEAD_MS;
    const upTo = await firstSince(bus, STREAMS.keptBodies, oldest, bodies);
    trimmed.push(await purge(bus, STREAMS.keptBodies, upTo, bodies));
  }
  return trimmed.filter(({ messages }) => messages > 0);
}

function maxBytesOf(info: StreamInfo): number {
  return Number(info.config['max_bytes'] ?? -1);
}

function shareOf(info: StreamInfo): number {
  const maxBytes = maxBytesOf(info);
  return maxBytes > 0 ? info.bytes / maxBytes : 0;
}

function keepAt(share: number): number {
  return KEEP_UNDER_PRESSURE.find((one) => share > one.share)?.ms ?? Infinity;
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
      // The floor of a reader of some subjects stays at its last message. It may want no more.
      return pending === 0 && unacknowledged === 0 ? info.lastSeq : ackFloor;
    }),
  );
}

/** The first sequence stored at or after a time; the one after the last where all are older. */
async function firstSince(
  bus: Bus,
  stream: StreamName,
  sinceMs: number,
  info: StreamInfo,
): Promise<number> {
  const first = await directGet(bus, stream, { sinceMs }, FIRST_TIMEOUT_MS);
  return first?.seq ?? info.lastSeq + 1;
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
