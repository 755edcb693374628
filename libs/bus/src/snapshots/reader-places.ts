import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { askJetStream, isRecord, JS_ERRORS, textIn } from '../connection/js-api.ts';
import { STREAMS } from '../subjects/names.ts';

/** A durable reader of a stream, and the sequence up to which it has acknowledged everything. */
export interface ReaderPlace {
  readonly stream: string;
  readonly reader: string;
  /** 0 if it has acknowledged nothing, and the sequence of its start is unknown. */
  readonly ackFloor: number;
  /** When it was made, RFC 3339: where a reader of new messages starts. */
  readonly createdAt?: string;
  /** The consumer's configuration as the server gave it. */
  readonly config: Readonly<Record<string, unknown>>;
}

/** Streams that readers read through with a place of their own. */
const READ = [STREAMS.events, STREAMS.publications] as const;

/**
 * The places of all durable readers. Read them before the snapshots: messages that are acknowledged
 * after that are delivered again, and none is skipped. Readers of the queue of reactions are left
 * out: it has only unfinished work.
 * @throws BusError `BUS_REFUSED`, and as `Inbox.request` does.
 */
export async function readerPlaces(bus: Bus): Promise<ReaderPlace[]> {
  const places: ReaderPlace[] = [];
  for (const stream of READ) {
    for (let offset = 0; ;) {
      const answer = await askJetStream(bus, `CONSUMER.LIST.${stream}`, { offset });
      if (!answer.ok) {
        if (answer.number === JS_ERRORS.streamNotFound) break;
        throw new BusError('BUS_REFUSED', `no readers of ${stream}: ${answer.text}`);
      }
      const { consumers, total } = answer.value;
      const page = Array.isArray(consumers) ? consumers.filter(isRecord) : [];
      for (const consumer of page) places.push(...placeOf(stream, consumer));
      offset += page.length;
      if (page.length === 0 || offset >= Number(total ?? 0)) break;
    }
  }
  return places;
}

/** A consumer that belongs to one reader has no place to keep. */
function placeOf(stream: string, consumer: Record<string, unknown>): ReaderPlace[] {
  const config = isRecord(consumer['config']) ? consumer['config'] : {};
  const reader = textIn(config, 'durable_name');
  if (reader === '') return [];
  const ackFloor = floorOf(consumer, config);
  return [{ stream, reader, ackFloor, createdAt: textIn(consumer, 'created'), config }];
}

/**
 * The server reports a floor of 0 until the first acknowledgement, also for a reader that began in
 * the middle. If no message waits for an acknowledgement, all delivered messages are done.
 */
function floorOf(consumer: Record<string, unknown>, config: Record<string, unknown>): number {
  const floor = sequenceIn(consumer['ack_floor']);
  const start = Number(config['opt_start_seq'] ?? 0);
  const passed = consumer['num_ack_pending'] === 0 ? sequenceIn(consumer['delivered']) : 0;
  return Math.max(floor, passed, start - 1);
}

function sequenceIn(value: unknown): number {
  return isRecord(value) ? Number(value['stream_seq'] ?? 0) : 0;
}

/**
 * Makes a durable reader that resumes at its place.
 * @throws BusError `BUS_REFUSED`, and as `Inbox.request` does.
 */
export async function restoreReader(bus: Bus, place: ReaderPlace): Promise<void> {
  const { stream, reader } = place;
  // The server writes the metadata itself.
  const { metadata: _, opt_start_time: __, opt_start_seq: ___, ...kept } = place.config;
  const config = { ...kept, ...startOf(place), durable_name: reader, name: reader };
  const made = await askJetStream(bus, `CONSUMER.CREATE.${stream}.${reader}`, {
    stream_name: stream,
    config,
  });
  if (made.ok) return;
  throw new BusError('BUS_REFUSED', `no reader ${reader} of ${stream}: ${made.text}`);
}

/** A reader of new messages must not get those that were there before it was made. */
function startOf({ ackFloor, createdAt, config }: ReaderPlace): Record<string, unknown> {
  if (ackFloor === 0 && config['deliver_policy'] === 'new' && createdAt) {
    return { deliver_policy: 'by_start_time', opt_start_time: createdAt };
  }
  return { deliver_policy: 'by_start_sequence', opt_start_seq: ackFloor + 1 };
}
