import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import type { StreamInfo } from '../connection/js-api.ts';
import { askJetStream, isRecord, streamInfo } from '../connection/js-api.ts';
import type { StreamName } from '../subjects/names.ts';
import { STREAMS } from '../subjects/names.ts';

/** How full a stream is. */
export interface StreamUsage {
  readonly stream: StreamName;
  readonly messages: number;
  readonly bytes: number;
  readonly maxBytes: number;
  /** Of `maxBytes`, from 0 to 1. */
  readonly share: number;
}

/** What a trim took away. */
export interface Trimmed {
  readonly stream: StreamName;
  readonly messages: number;
}

const KEEP_MS = 15 * 60_000;
/** A body is stored before what refers to it, by no more than an append may take. */
const BODY_LEAD_MS = 10 * 60_000;

/**
 * How long what all readers have is kept, by how full its stream is. A stream that fills gives up
 * its past first, so that an alarm at 70 % means a reader that is behind: publishers read back
 * 30 s, and no reader wants more.
 */
const KEEP_UNDER_PRESSURE = [
  { share: 0.6, ms: 30_000 },
  { share: 0.4, ms: 120_000 },
] as const;

/** How full the streams are; for the owner, who raises an alarm at 70 %. */
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
 * Takes away what every durable reader has acknowledged and what is older than `keepMs` (default 15
 * minutes, less in a stream that is more than 40 % full); for the owner of the streams. A stream
 * without a durable reader keeps all. Large bodies go once nothing refers to them any more.
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

/** The last sequence that all durable readers are done with; undefined where there are none. */
async function acknowledgedUpTo(
  bus: Bus,
  stream: StreamName,
  info: StreamInfo,
): Promise<number | undefined> {
  let floor: number | undefined;
  for (let offset = 0; ;) {
    const answer = await askJetStream(bus, `CONSUMER.LIST.${stream}`, { offset });
    if (!answer.ok) throw new BusError('BUS_REFUSED', `no readers of ${stream}: ${answer.text}`);
    const consumers = answer.value['consumers'];
    const page = Array.isArray(consumers) ? consumers.filter(isRecord) : [];
    for (const consumer of page) {
      const config = isRecord(consumer['config']) ? consumer['config'] : {};
      if (typeof config['durable_name'] !== 'string') continue;
      floor = Math.min(floor ?? Infinity, floorOf(consumer, info));
    }
    offset += page.length;
    if (page.length === 0 || offset >= Number(answer.value['total'] ?? 0)) return floor;
  }
}

function floorOf(consumer: Readonly<Record<string, unknown>>, info: StreamInfo): number {
  // A reader of some subjects only stays behind at its last one, though it wants no more of them.
  const idle = Number(consumer['num_pending']) === 0 && Number(consumer['num_ack_pending']) === 0;
  if (idle) return info.lastSeq;
  const floor = consumer['ack_floor'];
  return isRecord(floor) ? Number(floor['stream_seq'] ?? 0) : 0;
}

/** The first sequence stored at or after a time; the one after the last where all are older. */
async function firstSince(
  bus: Bus,
  stream: StreamName,
  timeMs: number,
  info: StreamInfo,
): Promise<number> {
  const payload = JSON.stringify({ start_time: new Date(timeMs).toISOString(), batch: 1 });
  const subject = `$JS.API.DIRECT.GET.${stream}`;
  const msg = await bus.inbox.request(subject, payload, { timeoutMs: 5_000 });
  const seq = Number(msg.headers?.get('Nats-Sequence') ?? '');
  if (msg.headers?.code === 404) return info.lastSeq + 1;
  if (!Number.isInteger(seq) || seq <= 0) {
    throw new BusError('BUS_REFUSED', `no message of ${stream} by its time`);
  }
  return seq;
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
