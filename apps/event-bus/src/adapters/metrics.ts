import {
  type Bus,
  readerLags,
  type StreamReaderLag,
  type StreamUsage,
  streamUsage,
} from '@brine/bus';
import type { LocalEvents, Readers } from '@brine/host';
import { addConnectionMetrics, type Metrics, type Sample } from '@brine/service';

/** Interval of reading the fill levels of the streams. */
const STREAMS_EVERY_MS = 5_000;

/** The sources of an event bus's metrics. */
export interface MeasuredParts {
  readonly bus: Bus;
  readonly readers: Readers;
  readonly local: LocalEvents;
  /** When the AES key in use was made, unix ms; undefined if unknown. */
  readonly keyMadeMs: () => number | undefined;
}

/** The fill levels of the streams, and their readers, from the last poll. */
export interface MeasuredStreams {
  readonly streams: readonly StreamUsage[];
  readonly lags: readonly StreamReaderLag[];
}

/** Figures of the event bus for `/metrics`, and those of the streams for its status. */
export function exposeMetrics(
  metrics: Metrics,
  parts: MeasuredParts,
): { readonly close: () => void; readonly status: () => MeasuredStreams } {
  const { bus, readers, local, keyMadeMs } = parts;
  const counter = (name: string, help: string, read: () => number): void =>
    metrics.counterOf(`brine_event_bus_${name}_total`, help, read);
  addConnectionMetrics(metrics, bus);
  metrics.gaugeOf(
    'brine_event_bus_readers',
    'Readers connected to the event sockets.',
    () => readers.count,
  );
  counter('events', 'Events fired to readers.', () => readers.stats().fired);
  counter('dropped_readers', 'Readers dropped as too slow.', () => readers.stats().droppedReaders);
  counter('local_events', 'Events stored for local tools.', () => local.stats().stored);
  counter('lost_local_events', 'Events of local tools that were lost.', () => local.stats().lost);
  metrics.gaugeOf('brine_aes_epoch_age_seconds', 'Age of the AES key in use.', () => {
    const made = keyMadeMs();
    return made === undefined ? [] : [{ value: Math.max(0, Date.now() - made) / 1000 }];
  });
  return exposeStreams(metrics, bus);
}

/** The fill levels of the streams and the lag of their readers; a gap while NATS is silent. */
function exposeStreams(metrics: Metrics, bus: Bus): ReturnType<typeof exposeMetrics> {
  let usage: readonly StreamUsage[] = [];
  let lags: readonly StreamReaderLag[] = [];
  let asking = false;
  const ask = async (): Promise<void> => {
    if (asking) return;
    asking = true;
    try {
      [usage, lags] = await Promise.all([streamUsage(bus), readerLags(bus)]);
    } catch {
      // The gap in the metrics shows it, and so does brine_nats_connected.
      [usage, lags] = [[], []];
    } finally {
      asking = false;
    }
  };
  const ofStream = (name: string, help: string, read: (one: StreamUsage) => number): void =>
    metrics.gaugeOf(`brine_stream_${name}`, help, (): Sample[] =>
      usage.map((one) => ({ labels: { stream: one.stream }, value: read(one) })),
    );
  const ofReader = (name: string, help: string, read: (one: StreamReaderLag) => number): void =>
    metrics.gaugeOf(`brine_stream_consumer_${name}`, help, (): Sample[] =>
      lags.map((one) => {
        return { labels: { stream: one.stream, consumer: one.reader }, value: read(one) };
      }),
    );
  ofStream('messages', 'Messages of a stream.', (one) => one.messages);
  ofStream('bytes', 'Bytes of a stream.', (one) => one.bytes);
  ofStream('max_bytes', 'Room of a stream, bytes; -1 is no bound.', (one) => one.maxBytes);
  ofReader('pending', 'Messages a durable reader has not been given.', (one) => one.pending);
  ofReader('ack_pending', 'Messages it has not acknowledged.', (one) => one.unacknowledged);
  void ask();
  const timer = setInterval(() => void ask(), STREAMS_EVERY_MS);
  timer.unref();
  return {
    close: () => clearInterval(timer),
    status: () => ({ streams: usage, lags }),
  };
}
