import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { askJetStream, isRecord, JS_ERRORS } from '../connection/js-api.ts';
import type { StreamName } from '../subjects/names.ts';
import { STREAMS } from '../subjects/names.ts';

/** A durable reader of a stream and its lag. */
export interface StreamReaderLag {
  readonly stream: StreamName;
  readonly reader: string;
  /** Messages that it has not been given. */
  readonly pending: number;
  /** Messages it was given and has not acknowledged. */
  readonly unacknowledged: number;
}

/** A durable reader with its place. */
interface DurableReader extends StreamReaderLag {
  /** The last sequence up to which it has acknowledged everything. */
  readonly ackFloor: number;
}

const READ = [STREAMS.events, STREAMS.publications, STREAMS.reactions, STREAMS.due] as const;

/**
 * The lags of the durable readers of events, publications and the queues of work.
 * @throws BusError as {@link durableReaders} does.
 */
export async function readerLags(bus: Bus): Promise<readonly StreamReaderLag[]> {
  const lags: DurableReader[] = [];
  for (const stream of READ) lags.push(...(await durableReaders(bus, stream)));
  return lags;
}

/**
 * All durable readers of a stream; empty if an event-bus of an older release has not made it. There
 * are few: two for each host and the store.
 * @throws BusError `BUS_REFUSED`, and as `Inbox.request` does.
 */
export async function durableReaders(bus: Bus, stream: StreamName): Promise<DurableReader[]> {
  const readers: DurableReader[] = [];
  for (let offset = 0; ;) {
    const answer = await askJetStream(bus, `CONSUMER.LIST.${stream}`, { offset });
    if (!answer.ok && answer.number === JS_ERRORS.streamNotFound) return readers;
    if (!answer.ok) throw new BusError('BUS_REFUSED', `no readers of ${stream}: ${answer.text}`);
    const { consumers, total } = answer.value;
    const page = Array.isArray(consumers) ? consumers.filter(isRecord) : [];
    for (const consumer of page) {
      const config = isRecord(consumer['config']) ? consumer['config'] : {};
      const floor = isRecord(consumer['ack_floor']) ? consumer['ack_floor'] : {};
      const reader = config['durable_name'];
      if (typeof reader !== 'string') continue;
      readers.push({
        stream,
        reader,
        pending: Number(consumer['num_pending']),
        unacknowledged: Number(consumer['num_ack_pending']),
        ackFloor: Number(floor['stream_seq'] ?? 0),
      });
    }
    offset += page.length;
    if (page.length === 0 || offset >= Number(total ?? 0)) return readers;
  }
}
