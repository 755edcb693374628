import type { Span } from './span.ts';

/** The target of finished spans. It never throws: telemetry never stops a service. */
export interface SpanSink {
  add(span: Span): void;
  flush(): Promise<void>;
  close(): Promise<void>;
  /** Spans that could not be kept or sent. */
  readonly dropped: number;
}

/** The sink of a service that records no traces. */
export const NO_SINK: SpanSink = {
  dropped: 0,
  add: () => undefined,
  flush: () => Promise.resolve(),
  close: () => Promise.resolve(),
};
