import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { askJetStream, isRecord } from '../connection/js-api.ts';
import type { StreamName } from '../subjects/names.ts';
import { STREAMS } from '../subjects/names.ts';

/** A durable reader of a stream and how far behind it is. */
export interface StreamReaderLag {
  readonly stream: StreamName;
  readonly reader: string;
  /** Messages it has not been given. */
  readonly pending: number;
  /** Messages it was given and has not acknowledged. */
  readonly unacknowledged: number;
}

/** Readers are few: two for each host and the store. */
const READERS_MAX = 1_000;

/**
 * How far behind the durable readers of events and publications are.
 * @throws BusError `BUS_REFUSED`, and as `Inbox.request` does.
 */
export async function readerLags(bus: Bus): Promise<readonly StreamReaderLag[]> {
  const lags: StreamReaderLag[] = [];
  for (const stream of [STREAMS.events, STREAMS.publications] as const) {
    for (let offset = 0; offset < READERS_MAX;) {
      const answer = await askJetStream(bus, `CONSUMER.LIST.${stream}`, { offset });
      if (!answer.ok) throw new BusError('BUS_REFUSED', `no readers of ${stream}: ${answer.text}`);
      const { consumers } = answer.value;
      const page = Array.isArray(consumers) ? consumers.filter(isRecord) : [];
      for (const consumer of page) {
        const config = isRecord(consumer['config']) ? consumer['config'] : {};
        const reader = config['durable_name'];
        if (typeof reader !== 'string') continue;
        const pending = Number(consumer['num_pending'] ?? 0);
        const unacknowledged = Number(consumer['num_ack_pending'] ?? 0);
        lags.push({ stream, reader, pending, unacknowledged });
      }
      offset += page.length;
      if (page.length === 0 || offset >= Number(answer.value['total'] ?? 0)) break;
    }
  }
  return lags;
}
