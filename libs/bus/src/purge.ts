import type { Bus } from './connect.ts';
import { BusError } from './errors.ts';
import { askJetStream, isRecord, streamInfo } from './js-api.ts';
import { STREAMS, subjects } from './names.ts';
import type { StreamName } from './names.ts';

/** What of the streams is kept although all have read it. */
export interface PurgeOptions {
  /** In ms; default 15 minutes. */
  readonly keepMs?: number;
  /** Unix ms; default now. */
  readonly nowMs?: number;
  /** Publications kept at least: a publisher finds its serial from them. Default 1,000. */
  readonly keepPublications?: number;
}

/** What was removed and what it looks like now. */
export interface Purged {
  readonly messages: number;
  /** Share of `max_bytes` in use, of the fullest stream; 0.7 is a reason for an alarm. */
  readonly fullest: number;
}

const KEEP_MS = 15 * 60_000;
const KEEP_PUBLICATIONS = 1_000;
/** A large body is stored before the message that refers to it, by this much at most. */
const BODY_LEAD_MS = 60_000;
/** JetStream lists so many consumers at once. */
const PAGE = 256;

/**
 * Removes from EVENTS and PUBLICATIONS what all durable readers have acknowledged and what is older
 * than `keepMs`, both; and then the large bodies that only those referred to. Markers stay: the last
 * one names the AES key in use.
 * @throws BusError `BUS_REFUSED`, and as `Inbox.request` does.
 */
export async function purgeStreams(bus: Bus, options: PurgeOptions = {}): Promise<Purged> {
  const beforeMs = (options.nowMs ?? Date.now()) - (options.keepMs ?? KEEP_MS);
  const events = await cut(bus, STREAMS.events, beforeMs, 0);
  const keep = options.keepPublications ?? KEEP_PUBLICATIONS;
  const publications = await cut(bus, STREAMS.publications, beforeMs, keep);
  let messages = await purge(bus, STREAMS.events, events.seq);
  for (const kind of ['job', 'again'] as const) {
    const filter = subjects.publication(kind);
    messages += await purge(bus, STREAMS.publications, publications.seq, filter);
  }
  const bodiesMs = Math.min(events.timeMs, publications.timeMs) - BODY_LEAD_MS;
  const bodies = await firstSince(bus, STREAMS.keptBodies, bodiesMs);
  messages += await purge(bus, STREAMS.keptBodies, bodies.seq);
  return { messages, fullest: await fullest(bus) };
}

interface Cut {
  /** The first sequence that stays. */
  readonly seq: number;
  /** Everything stored before this time goes. */
  readonly timeMs: number;
}

async function cut(
  bus: Bus,
  stream: StreamName,
  beforeMs: number,
  keepMessages: number,
): Promise<Cut> {
  const byTime = await firstSince(bus, stream, beforeMs);
  const byReaders = await ackedBelow(bus, stream);
  const byNumber = byTime.lastSeq - keepMessages + 1;
  const seq = Math.max(1, Math.min(byTime.seq, byReaders, byNumber));
  if (seq === byTime.seq) return { seq, timeMs: beforeMs };
  return { seq, timeMs: Math.min(beforeMs, await timeOf(bus, stream, seq)) };
}

/** The first sequence at or after a time; the one after the last where all are older. */
async function firstSince(
  bus: Bus,
  stream: StreamName,
  timeMs: number,
): Promise<{ readonly seq: number; readonly lastSeq: number }> {
  const info = await streamInfo(bus, stream);
  if (info === undefined) throw new BusError('BUS_STREAM_AWAY', `there is no stream ${stream}`);
  const { lastSeq } = info;
  if (info.messages === 0 || timeMs <= 0) return { seq: info.firstSeq, lastSeq };
  const start = { deliver_policy: 'by_start_time', opt_start_time: new Date(timeMs).toISOString() };
  const first = await peek(bus, stream, start);
  return { seq: first?.seq ?? lastSeq + 1, lastSeq };
}

/** When the message at a sequence, or the next one, was stored; now where there is none. */
async function timeOf(bus: Bus, stream: StreamName, seq: number): Promise<number> {
  const start = { deliver_policy: 'by_start_sequence', opt_start_seq: seq };
  return (await peek(bus, stream, start))?.timeMs ?? Date.now();
}

/** Looks at one message without its body, through a consumer of that one look. */
async function peek(
  bus: Bus,
  stream: StreamName,
  start: Readonly<Record<string, unknown>>,
): Promise<{ readonly seq: number; readonly timeMs: number } | undefined> {
  const name = `peek${Math.random().toString(36).slice(2, 14)}`;
  const made = await askJetStream(bus, `CONSUMER.CREATE.${stream}.${name}`, {
    stream_name: stream,
    config: {
      name,
      ...start,
      ack_policy: 'none',
      headers_only: true,
      mem_storage: true,
      num_replicas: 1,
      inactive_threshold: 10e9,
    },
  });
  if (!made.ok) throw new BusError('BUS_REFUSED', `no look into ${stream}: ${made.text}`);
  if (Number(made.value['num_pending'] ?? 0) === 0) return undefined;
  const verb = `$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`;
  const msg = await bus.inbox.request(verb, JSON.stringify({ batch: 1, no_wait: true }), {
    timeoutMs: 5_000,
  });
  const tokens = msg.reply?.split('.') ?? [];
  // $JS.ACK.<stream>.<consumer>.<deliveries>.<seq>.<consumer seq>.<ns>.<pending>, or with two more.
  const at = tokens.length === 9 ? 5 : 7;
  const seq = Number(tokens[at]);
  const timeMs = Number(tokens[at + 2]?.slice(0, -6));
  if (!Number.isInteger(seq) || !Number.isInteger(timeMs)) {
    throw new BusError('BUS_BAD_MESSAGE', `a look into ${stream} showed no message`);
  }
  await askJetStream(bus, `CONSUMER.DELETE.${stream}.${name}`, undefined);
  return { seq, timeMs };
}

/** The first sequence that some durable reader still needs. */
async function ackedBelow(bus: Bus, stream: StreamName): Promise<number> {
  let needed = Number.POSITIVE_INFINITY;
  for (let offset = 0; ; offset += PAGE) {
    const answer = await askJetStream(bus, `CONSUMER.LIST.${stream}`, { offset });
    if (!answer.ok) throw new BusError('BUS_REFUSED', `no readers of ${stream}: ${answer.text}`);
    const consumers = answer.value['consumers'];
    const page = Array.isArray(consumers) ? consumers.filter(isRecord) : [];
    for (const consumer of page) needed = Math.min(needed, neededBy(consumer));
    if (page.length < PAGE) return needed;
  }
}

function neededBy(consumer: Readonly<Record<string, unknown>>): number {
  const config = isRecord(consumer['config']) ? consumer['config'] : {};
  if (typeof config['durable_name'] !== 'string') return Number.POSITIVE_INFINITY;
  const open = Number(consumer['num_pending'] ?? 0) + Number(consumer['num_ack_pending'] ?? 0);
  // A reader of some subjects only never acknowledges the others.
  if (open === 0) return Number.POSITIVE_INFINITY;
  const floor = isRecord(consumer['ack_floor']) ? consumer['ack_floor'] : {};
  return Number(floor['stream_seq'] ?? 0) + 1;
}

async function purge(bus: Bus, stream: StreamName, seq: number, filter?: string): Promise<number> {
  if (seq <= 1) return 0;
  const answer = await askJetStream(
    bus,
    `STREAM.PURGE.${stream}`,
    { seq, ...(filter === undefined ? {} : { filter }) },
    30_000,
  );
  if (!answer.ok) throw new BusError('BUS_REFUSED', `${stream} was not purged: ${answer.text}`);
  return Number(answer.value['purged'] ?? 0);
}

async function fullest(bus: Bus): Promise<number> {
  let most = 0;
  for (const stream of [STREAMS.events, STREAMS.publications, STREAMS.keptBodies]) {
    const info = await streamInfo(bus, stream);
    const max = Number(info?.config['max_bytes'] ?? -1);
    if (info !== undefined && max > 0) most = Math.max(most, info.bytes / max);
  }
  return most;
}
