import { attributesOf, type SpanSource } from './otlp-json.ts';
import type { Span } from './span.ts';
import type { SpanSink } from './span-sink.ts';

/**
 * Sends spans to a collector through the OpenTelemetry SDK, which is loaded only here. Its ids come
 * from ours: the generator returns those of the span being made, which is safe because making a
 * span is synchronous. Endpoint, headers and time-outs are the SDK's own `OTEL_…` variables.
 * Rejects if the SDK can not start, or for an unsupported protocol.
 */
export async function startOtlpExport(source: SpanSource, protocol: string): Promise<SpanSink> {
  const [{ NodeSDK, tracing, resources }, { OTLPTraceExporter }, api] = await Promise.all([
    import('@opentelemetry/sdk-node'),
    exporterOf(protocol),
    import('@opentelemetry/api'),
  ]);
  let current: Span | undefined;
  const random = new tracing.RandomIdGenerator();
  const idGenerator = {
    generateTraceId: () => current?.traceId ?? random.generateTraceId(),
    generateSpanId: () => current?.spanId ?? random.generateSpanId(),
  };
  const processor = new tracing.BatchSpanProcessor(new OTLPTraceExporter());
  const sdk = new NodeSDK({
    autoDetectResources: false,
    idGenerator,
    instrumentations: [],
    resource: resources.resourceFromAttributes({
      'service.name': source.service,
      'service.namespace': 'brine',
      'host.name': source.host,
      'process.pid': source.pid,
    }),
    // The jid decides which jobs are traced, before a span gets here.
    sampler: new tracing.AlwaysOnSampler(),
    spanProcessors: [processor],
  });
  sdk.start();
  const tracer = api.trace.getTracer('brine');
  let closing: Promise<void> | undefined;

  const add = (span: Span): void => {
    const parent = span.parentSpanId;
    const context =
      parent === undefined
        ? api.ROOT_CONTEXT
        : api.trace.setSpanContext(api.ROOT_CONTEXT, spanContext(span.traceId, parent));
    const links = span.linkContext
      ? [{ context: spanContext(span.linkContext.traceId, span.linkContext.spanId) }]
      : [];
    const { record } = span;
    current = span;
    const made = tracer.startSpan(
      record.name,
      { startTime: hrTime(record.startMs), attributes: attributesOf(span), links },
      context,
    );
    current = undefined;
    if (record.error !== undefined) {
      made.setStatus({ code: api.SpanStatusCode.ERROR, message: record.error });
    }
    made.end(hrTime(record.endMs));
  };
  const spanContext = (traceId: string, spanId: string) => ({
    traceId,
    spanId,
    traceFlags: api.TraceFlags.SAMPLED,
    isRemote: true,
  });
  const close = (): Promise<void> => (closing ??= sdk.shutdown());
  return { dropped: 0, add, flush: () => processor.forceFlush(), close };
}

/** By `OTEL_EXPORTER_OTLP_PROTOCOL`; gRPC would be loaded into every service without need. */
function exporterOf(protocol: string) {
  switch (protocol) {
    case 'http/protobuf':
      return import('@opentelemetry/exporter-trace-otlp-proto');
    case 'http/json':
      return import('@opentelemetry/exporter-trace-otlp-http');
    default:
      throw new Error(`OTEL_EXPORTER_OTLP_PROTOCOL: ${protocol} is not http/protobuf or http/json`);
  }
}

/** Seconds and nanoseconds: a Date would cut the microseconds off. */
function hrTime(ms: number): [seconds: number, nanoseconds: number] {
  const us = Math.round(ms * 1000);
  return [Math.floor(us / 1e6), (us % 1e6) * 1000];
}
