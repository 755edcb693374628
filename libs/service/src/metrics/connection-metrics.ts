import type { Metrics } from './metrics.ts';

/** A connection to NATS, as its metrics need it: `Bus`. */
export interface MeasuredConnection {
  readonly status: string;
  readonly reconnects: number;
  /** Unix ms; undefined without TLS. */
  readonly certificateEnd?: number | undefined;
  /** Messages of streams that its readers skipped. */
  readonly asides: {
    readonly counts: readonly {
      readonly stream: string;
      readonly reader: string;
      readonly count: number;
    }[];
  };
}

/** Adds the metrics of a service's connection to NATS. */
export function addConnectionMetrics(metrics: Metrics, connection: MeasuredConnection): void {
  metrics.gaugeOf('brine_nats_connected', '1 while the connection to NATS stands.', () =>
    Number(connection.status === 'connected'),
  );
  metrics.counterOf(
    'brine_nats_reconnects_total',
    'Times the connection to NATS came back.',
    () => connection.reconnects,
  );
  metrics.gaugeOf(
    'brine_nats_certificate_end_seconds',
    'Unix time at which the certificate for NATS ends; none without TLS.',
    () => (connection.certificateEnd === undefined ? [] : connection.certificateEnd / 1000),
  );
  metrics.counterOf(
    'brine_stream_aside_total',
    'Messages of a stream that a reader could not handle and skipped.',
    () =>
      connection.asides.counts.map(({ stream, reader, count }) => ({
        labels: { stream, reader },
        value: count,
      })),
  );
}
