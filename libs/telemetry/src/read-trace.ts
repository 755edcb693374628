import { createReadStream, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { isSystemError } from '@brine/files';
import { type Jid, jidTimeMs, spanIdOf, traceIdOf } from '@brine/job';
import { JID, type JsonSpan, LEFT_OUT, PART, readAttributes, type TraceLine } from './otlp-json.ts';
import type { SpanAttribute } from './span.ts';

/** More spans of one job than this are left out and counted: a job of many thousand minions. */
const SPANS_MAX = 50_000;
/** A file that was last written this long before the job has nothing of it, in ms. */
const CLOCK_SLACK_MS = 60_000;

/** A span of a trace with the spans that it caused, in the order of their starts. */
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
  /** It names a cause that is not recorded on this host. */
  readonly orphan: boolean;
  readonly children: TraceNode[];
}

/** The trace of a job from this host's files. */
export interface Trace {
  readonly jid: string;
  readonly traceId: string;
  /** Spans without a cause, or whose cause is not recorded here. */
  readonly roots: readonly TraceNode[];
  readonly spans: number;
  /** Spans whose cause is not recorded here. */
  readonly orphans: number;
  /** Returns without spans of their own, by sampling. */
  readonly returnsLeftOut: number;
  /** Spans beyond the limit. */
  readonly spansLeftOut: number;
}

/** A span from a file, with the id of its cause. */
interface Found {
  readonly node: TraceNode & { orphan: boolean };
  readonly parent: string | undefined;
}

/**
 * Reads the trace of a job from the trace files of a directory. A job without spans has no trace. A
 * broken line (of a killed process) is left out. Rejects if the directory can not be listed, unless
 * it is missing.
 */
export async function readTrace(dir: string, jid: string): Promise<Trace> {
  const traceId = traceIdOf(jid as Jid);
  const found = new Map<string, Found>();
  let spansLeftOut = 0;
  for (const path of listFiles(dir, jidTimeMs(jid as Jid) - CLOCK_SLACK_MS)) {
    for await (const line of createInterface({ input: createReadStream(path) })) {
      // Spans of a trace of their own (a Brine minion's run) name the job.
      if (!line.includes(traceId) && !line.includes(jid)) continue;
      for (const { span, service, host } of spansOf(line)) {
        const one = foundOf(span, { jid, traceId, service, host });
        if (one === undefined) continue;
        const known = found.get(span.spanId);
        if (known === undefined && found.size >= SPANS_MAX) spansLeftOut += 1;
        // A return that was received again has its spans again: the first counts.
        else if (known === undefined || one.node.endMs < known.node.endMs) {
          found.set(span.spanId, one);
        }
      }
    }
  }
  return { jid, traceId, ...grow(found), spansLeftOut };
}

function listFiles(dir: string, sinceMs: number): string[] {
  let names: string[];
  try {
    names = readdirSync(dir).filter((name) => name.endsWith('.jsonl'));
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return [];
    throw error;
  }
  const paths = names.sort().map((name) => join(dir, name));
  return paths.filter((path) => {
    // The file was rotated and removed meanwhile.
    const written = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
    return written !== undefined && !(written < sinceMs);
  });
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

function foundOf(
  span: JsonSpan,
  where: { jid: string; traceId: string; service: string; host: string },
): Found | undefined {
  const { jid, traceId, service, host } = where;
  const { [PART]: part, [JID]: named, ...attributes } = readAttributes(span.attributes);
  const own = span.traceId === traceId;
  if (!own && named !== jid) return undefined;
  const partName = String(part ?? span.name);
  const node = {
    name: span.name,
    part: partName,
    service,
    host,
    startMs: milliseconds(span.startTimeUnixNano),
    endMs: milliseconds(span.endTimeUnixNano),
    attributes,
    error: span.status?.code === 2 ? (span.status.message ?? 'failed') : undefined,
    links: span.links ?? [],
    orphan: false,
    children: [],
  };
  if (own) return { node, parent: span.parentSpanId };
  // `run.<id>` belongs below the minion's part, in any trace.
  const parent = spanIdOf(jid as Jid, `minion.${partName.slice(partName.indexOf('.') + 1)}`);
  return { node, parent };
}

function grow(
  found: ReadonlyMap<string, Found>,
): Pick<Trace, 'roots' | 'spans' | 'orphans' | 'returnsLeftOut'> {
  const roots: TraceNode[] = [];
  let orphans = 0;
  let returnsLeftOut = 0;
  for (const { node, parent: parentId } of found.values()) {
    const parent = parentId === undefined ? undefined : found.get(parentId)?.node;
    // A span that names itself as its cause must not vanish from the tree.
    if (parent && parent !== node) parent.children.push(node);
    else {
      node.orphan = parentId !== undefined;
      if (node.orphan) orphans += 1;
      roots.push(node);
    }
    returnsLeftOut += Number(node.attributes[LEFT_OUT] ?? 0);
  }
  const byStart = (a: TraceNode, b: TraceNode): number => a.startMs - b.startMs;
  for (const { node } of found.values()) node.children.sort(byStart);
  return { roots: roots.sort(byStart), spans: found.size, orphans, returnsLeftOut };
}

function milliseconds(nanoseconds: string): number {
  // A double is not exact for today's time in ns: cut the text to µs first.
  return Number(nanoseconds.slice(0, -3)) / 1000;
}
