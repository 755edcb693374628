import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A span from a trace file or at a collector. */
export interface RecordedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly service: string;
  /** Unix microseconds, as numbers of that size are exact. */
  readonly startUs: number;
  readonly endUs: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
}

interface OtlpAttribute {
  readonly key: string;
  readonly value: Readonly<Record<string, string | number | boolean>>;
}

interface OtlpSpan extends Pick<RecordedSpan, 'traceId' | 'spanId' | 'name'> {
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly OtlpAttribute[];
  readonly links?: RecordedSpan['links'];
}

/** The spans of one OTLP request in JSON. */
export function spansOfRequest(json: string): RecordedSpan[] {
  const { resourceSpans } = JSON.parse(json) as {
    readonly resourceSpans: readonly {
      readonly resource: { readonly attributes: readonly OtlpAttribute[] };
      readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
    }[];
  };
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(attributesOf(resource.attributes)['service.name'] ?? '');
    return scopeSpans.flatMap(({ spans }) => spans.map((span) => recorded(span, service)));
  });
}

/** All spans in the trace files of a master's cachedir, except a line that is being written. */
export function readRecordedSpans(cachedir: string): RecordedSpan[] {
  const dir = join(cachedir, 'traces');
  return readdirSync(dir)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => {
      const lines = readFileSync(join(dir, name), 'utf8').split('\n');
      return lines.slice(0, -1).flatMap((line) => spansOfRequest(line));
    });
}

/** Spans with a parent that was not recorded. */
export function orphansOf(spans: readonly RecordedSpan[]): RecordedSpan[] {
  const known = new Set(spans.map(({ traceId, spanId }) => `${traceId} ${spanId}`));
  return spans.filter(
    ({ traceId, parentSpanId }) =>
      parentSpanId !== undefined && !known.has(`${traceId} ${parentSpanId}`),
  );
}

function recorded(span: OtlpSpan, service: string): RecordedSpan {
  const { traceId, spanId, parentSpanId, name, links = [] } = span;
  return {
    traceId,
    spanId,
    parentSpanId,
    name,
    service,
    startUs: Number(span.startTimeUnixNano.slice(0, -3)),
    endUs: Number(span.endTimeUnixNano.slice(0, -3)),
    attributes: attributesOf(span.attributes ?? []),
    links,
  };
}

function attributesOf(list: readonly OtlpAttribute[]): RecordedSpan['attributes'] {
  return Object.fromEntries(
    list.map(({ key, value }) => {
      const [[kind, text] = ['', '']] = Object.entries(value);
      return [key, kind === 'intValue' ? Number(text) : text];
    }),
  );
}
