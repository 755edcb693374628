import type { Exemplar, Labels } from './metric-series.ts';
import type { Family, HistogramSample } from './metric-series.ts';

/** Prometheus' text format 0.0.4, or OpenMetrics 1.0, which has exemplars. */
export type ExpositionFormat = 'prometheus' | 'openmetrics';

/** The header `Content-Type` of each format. */
export const CONTENT_TYPES: Readonly<Record<ExpositionFormat, string>> = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

/** Values of labels may come from outside; longer ones are cut. */
const LABEL_CHARS_MAX = 256;

/** The format and target of a family. */
export interface Rendering {
  readonly format: ExpositionFormat;
  /** Labels of every number. */
  readonly constant: Labels;
  /** Gets the lines. */
  readonly out: string[];
}

/** The form that a client asks for by its header `Accept`. */
export function formatFor(accept: string | undefined): ExpositionFormat {
  return accept?.includes('application/openmetrics-text') === true ? 'openmetrics' : 'prometheus';
}

/** Writes a family as lines: HELP, TYPE, and one for each number. */
export function renderFamily(family: Family, rendering: Rendering): void {
  const { format, constant, out } = rendering;
  const { name, type } = family;
  // OpenMetrics names a counter without the ending of its samples.
  const head = format === 'openmetrics' && type === 'counter' ? name.slice(0, -6) : name;
  out.push(`# HELP ${head} ${escapeHelp(family.help, format)}`, `# TYPE ${head} ${type}`);
  const prefix = labelPairs(constant);
  if (family.type === 'histogram') {
    for (const sample of family.samples) renderHistogram(family, sample, prefix, rendering);
    return;
  }
  for (const { labels, value } of family.samples) {
    out.push(`${name}${inBraces(prefix, labelPairs(labels ?? {}))} ${numberText(value)}`);
  }
}

function renderHistogram(
  family: Extract<Family, { type: 'histogram' }>,
  sample: HistogramSample,
  prefix: string,
  { format, out }: Rendering,
): void {
  const { name, bounds } = family;
  const pairs = join(prefix, labelPairs(sample.labels ?? {}));
  let count = 0;
  sample.counts.forEach((inBucket, at) => {
    count += inBucket;
    const le = boundText(bounds[at] ?? Infinity);
    const exemplar = format === 'openmetrics' ? exemplarText(sample.exemplars?.[at]) : '';
    out.push(`${name}_bucket${inBraces(pairs, `le="${le}"`)} ${count}${exemplar}`);
  });
  out.push(`${name}_sum${inBraces(pairs, '')} ${numberText(sample.sum)}`);
  out.push(`${name}_count${inBraces(pairs, '')} ${count}`);
}

/**
 * Joins the texts of several endpoints. Each family has one head and the numbers of all, as the
 * formats demand. All texts must have the same format; OpenMetrics gets `# EOF` at the end.
 */
export function joinExpositions(texts: readonly string[], format: ExpositionFormat): string {
  const families = new Map<string, string[]>();
  for (const text of texts) {
    let lines: string[] = [];
    let known = false;
    for (const line of text.split('\n')) {
      if (line === '' || line === '# EOF') continue;
      if (line.startsWith('# HELP ')) {
        const name = line.slice(7, line.indexOf(' ', 7));
        known = families.has(name);
        lines = families.get(name) ?? [];
        families.set(name, lines);
      }
      if (known && line.startsWith('#')) continue;
      lines.push(line);
    }
  }
  const out = [...families.values()].flat();
  if (format === 'openmetrics') out.push('# EOF');
  return `${out.join('\n')}\n`;
}

function exemplarText(exemplar: Exemplar | undefined): string {
  if (exemplar === undefined) return '';
  const { traceId, spanId, value, atMs } = exemplar;
  const span = spanId === undefined ? '' : `,span_id="${escapeLabel(spanId)}"`;
  const labels = `{trace_id="${escapeLabel(traceId)}"${span}}`;
  return ` # ${labels} ${numberText(value)} ${(atMs / 1000).toFixed(3)}`;
}

function labelPairs(labels: Labels): string {
  let pairs = '';
  for (const name in labels) {
    pairs += `${pairs === '' ? '' : ','}${name}="${escapeLabel(labels[name] ?? '')}"`;
  }
  return pairs;
}

function join(left: string, right: string): string {
  return left === '' || right === '' ? left + right : `${left},${right}`;
}

function inBraces(left: string, right: string): string {
  const pairs = join(left, right);
  return pairs === '' ? '' : `{${pairs}}`;
}

const NEEDS_ESCAPE = /[\\"\n]/;
const NEEDS_ESCAPES = /[\\"\n]/g;
/** Other control characters (a carriage return is none of the three, but ends lines for some). */
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f]/g;

function escapeLabel(value: string): string {
  const cut = value.length > LABEL_CHARS_MAX ? value.slice(0, LABEL_CHARS_MAX) : value;
  const plain = cut.replace(CONTROL, ' ');
  if (!NEEDS_ESCAPE.test(plain)) return plain;
  return plain.replace(NEEDS_ESCAPES, (one) => (one === '\n' ? '\\n' : `\\${one}`));
}

function escapeHelp(help: string, format: ExpositionFormat): string {
  const escaped = help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return format === 'openmetrics' ? escaped.replaceAll('"', '\\"') : escaped;
}

function numberText(value: number): string {
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : String(value);
}

/** As Python's client writes it, which Salt uses: `5.0`, so that series of both are one. */
function boundText(bound: number): string {
  return Number.isInteger(bound) ? `${bound}.0` : numberText(bound);
}
