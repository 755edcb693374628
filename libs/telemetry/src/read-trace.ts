import { createReadStream, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Jid, traceIdOf } from '@brine/job';
import {
  JID,
  type JsonSpan,
  PARENT_PART,
  PART,
  readAttributes,
  type TraceLine,
} from './otlp-json.ts';
import type { SpanAttribute } from './span.ts';

/** More spans of one job than this are left out and counted: a job of many thousand minions. */
const SPANS_MAX = 50_000;

/** One span of a trace with what it caused, in the order of their starts. */
export interface TraceNode {
  readonly name: string;
  readonly part: string;
  readonly service: string;
  readonly host: string;
  /** Unix milliseconds. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, SpanAttribute>>;
  readonly error: string | undefined;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly children: TraceNode[];
}

/** The trace of a job, as far as this host's files know it. */
export interface Trace {
  readonly jid: string;
  readonly traceId: string;
  /** Spans nobody caused, or whose cause is not recorded here. */
  readonly roots: readonly TraceNode[];
  readonly spans: number;
  /** Spans beyond the limit. */
  readonly leftOut: number;
}

/**
 * Reads the trace of a job from the trace files of a directory. A job without spans has none; a
 * line that is broken (the file of a killed process) is left out. Rejects where the directory can
 * not be listed for another reason than its absence.
 */
export async function readTrace(dir: string, jid: string): Promise<Trace> {
  const traceId = traceIdOf(jid as Jid);
  const nodes = new Map<string, TraceNode>();
  const parents = new Map<string, string>();
  let leftOut = 0;
  for (const name of listFiles(dir)) {
    for await (const line of createInterface({ input: createReadStream(join(dir, name)) })) {
      if (!line.includes(traceId)) continue;
      for (const { span, service, host } of spansOf(line)) {
        if (span.traceId !== traceId || nodes.has(span.spanId)) continue;
        if (nodes.size >= SPANS_MAX) {
          leftOut += 1;
          continue;
        }
        nodes.set(span.spanId, nodeOf(span, service, host));
        if (span.parentSpanId !== undefined) parents.set(span.spanId, span.parentSpanId);
      }
    }
  }
  return { jid, traceId, roots: grow(nodes, parents), spans: nodes.size, leftOut };
}

function listFiles(dir: string): string[] {
  try {
    return readdirSync(dir).filter((name) => name.endsWith('.jsonl'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function* spansOf(line: string): Iterable<{ span: JsonSpan; service: string; host: string }> {
  let parsed: TraceLine;
  try {
    parsed = JSON.parse(line) as TraceLine;
  } catch {
    // The last line of a process that was killed while it wrote.
    return;
  }
  for (const { resource, scopeSpans } of parsed.resourceSpans ?? []) {
    const attributes = readAttributes(resource?.attributes);
    const service = String(attributes['service.name'] ?? '');
    const host = String(attributes['host.name'] ?? '');
    for (const { spans } of scopeSpans ?? []) {
      for (const span of spans ?? []) yield { span, service, host };
    }
  }
}

function nodeOf(span: JsonSpan, service: string, host: string): TraceNode {
  const all = readAttributes(span.attributes);
  const { [PART]: part, [PARENT_PART]: _, [JID]: __, ...attributes } = all;
  return {
    name: span.name,
    part: String(part ?? span.name),
    service,
    host,
    startMs: milliseconds(span.startTimeUnixNano),
    endMs: milliseconds(span.endTimeUnixNano),
    attributes,
    error: span.status?.code === 2 ? (span.status.message ?? 'failed') : undefined,
    links: span.links ?? [],
    children: [],
  };
}

function grow(nodes: Map<string, TraceNode>, parents: Map<string, string>): TraceNode[] {
  const roots: TraceNode[] = [];
  for (const [id, node] of nodes) {
    const parent = nodes.get(parents.get(id) ?? '');
    // A span that names itself as its cause must not vanish from the tree.
    if (parent && parent !== node) parent.children.push(node);
    else roots.push(node);
  }
  const byStart = (a: TraceNode, b: TraceNode): number => a.startMs - b.startMs;
  for (const node of nodes.values()) node.children.sort(byStart);
  return roots.sort(byStart);
}

function milliseconds(nanoseconds: string): number {
  // A double can not hold today's time in ns: µs are cut off the text first.
  return Number(nanoseconds.slice(0, -3)) / 1000;
}
