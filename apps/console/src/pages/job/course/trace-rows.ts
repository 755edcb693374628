import { type Folds, isClosed } from './folds.ts';

/** A span of a trace, in the order of the tree: causes before what they caused. */
export interface TraceSpan {
  /** Its place in the trace. */
  readonly index: number;
  /** The place of its cause; undefined for a first one. */
  readonly parent: number | undefined;
  readonly depth: number;
  /** How many spans are below it, at any depth. They follow it. */
  readonly below: number;
  readonly part: string;
  readonly name: string;
  readonly service: string;
  readonly host: string;
  /** Unix ms. */
  readonly startMs: number;
  readonly endMs: number;
  readonly error: string | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** A part of the chain that made the trace as long as it is. */
  readonly isCritical: boolean;
}

/** A trace as rows. Times are unix ms. */
export interface TraceRows {
  readonly spans: readonly TraceSpan[];
  readonly startMs: number;
  readonly endMs: number;
}

/** Spans beyond these are left out: `/v1` has no more (libs/telemetry read-trace.ts). */
const SPANS_MAX = 50_000;

type Draft = { -readonly [name in keyof TraceSpan]: TraceSpan[name] };

/** Reads the spans of a trace, as `/v1/jobs/{jid}/trace` has them. */
export function traceRows(roots: readonly unknown[]): TraceRows {
  const spans = flatten(roots);
  const ends = lastEnds(spans);
  const startMs = spans.reduce((min, span) => Math.min(min, span.startMs), Infinity);
  const endMs = ends.reduce((max, end) => Math.max(max, end), 0);
  markCritical(spans, ends);
  return { spans, startMs: spans.length === 0 ? 0 : startMs, endMs };
}

/** The rows that are seen, where what is below some spans is not shown. */
export function openRows({ spans }: TraceRows, folds: Folds): readonly TraceSpan[] {
  const rows: TraceSpan[] = [];
  for (let at = 0; at < spans.length; at += 1) {
    const span = spans[at];
    if (span === undefined) break;
    rows.push(span);
    if (isClosed(folds, at)) at += span.below;
  }
  return rows;
}

function flatten(roots: readonly unknown[]): Draft[] {
  const spans: Draft[] = [];
  const stack: (readonly [node: unknown, parent: number | undefined, depth: number])[] = [];
  const push = (nodes: readonly unknown[], parent: number | undefined, depth: number): void => {
    for (const node of [...nodes].reverse()) stack.push([node, parent, depth]);
  };
  push(roots, undefined, 0);
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const [node, parent, depth] = next;
    if (spans.length >= SPANS_MAX || typeof node !== 'object' || node === null) continue;
    const given = node as Readonly<Record<string, unknown>>;
    const index = spans.length;
    spans.push(spanOf(given, { index, parent, depth }));
    if (Array.isArray(given['children'])) push(given['children'], index, depth + 1);
  }
  // What is below a span follows it: it is counted from the end.
  for (const span of [...spans].reverse()) {
    const cause = span.parent === undefined ? undefined : spans[span.parent];
    if (cause !== undefined) cause.below += span.below + 1;
  }
  return spans;
}

function spanOf(
  given: Readonly<Record<string, unknown>>,
  place: Pick<TraceSpan, 'index' | 'parent' | 'depth'>,
): Draft {
  const startMs = numberOf(given['startMs']);
  const { attributes } = given;
  return {
    ...place,
    below: 0,
    part: textOf(given['part']),
    name: textOf(given['name']),
    service: textOf(given['service']),
    host: textOf(given['host']),
    startMs,
    endMs: Math.max(startMs, numberOf(given['endMs'])),
    error: typeof given['error'] === 'string' ? given['error'] : undefined,
    attributes:
      typeof attributes === 'object' && attributes !== null
        ? (attributes as Readonly<Record<string, unknown>>)
        : {},
    isCritical: false,
  };
}

/** When each span and all that it caused had ended: a job is published before it is run. */
function lastEnds(spans: readonly TraceSpan[]): number[] {
  const ends = spans.map(({ endMs }) => endMs);
  for (const { index, parent } of [...spans].reverse()) {
    if (parent !== undefined) ends[parent] = Math.max(ends[parent] ?? 0, ends[index] ?? 0);
  }
  return ends;
}

/**
 * Marks the chain that made the trace as long as it is: from the end backwards, always what ended
 * last before the part that is known.
 */
function markCritical(spans: readonly Draft[], ends: readonly number[]): void {
  const caused = new Map<number | undefined, number[]>();
  for (const { index, parent } of spans) {
    const known = caused.get(parent);
    if (known === undefined) caused.set(parent, [index]);
    else known.push(index);
  }
  const endOf = (index: number): number => ends[index] ?? 0;
  const todo: (number | undefined)[] = [undefined];
  for (let at = 0; at < todo.length; at += 1) {
    const below = [...(caused.get(todo[at]) ?? [])].sort((one, other) => endOf(other) - endOf(one));
    let untilMs = Infinity;
    for (const index of below) {
      const span = spans[index];
      if (span === undefined || endOf(index) > untilMs) continue;
      span.isCritical = true;
      untilMs = span.startMs;
      todo.push(index);
    }
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}
