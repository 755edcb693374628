import type { Trace, TraceNode } from './read-trace.ts';
import type { SpanAttribute } from './span.ts';

/** Column of the times, if the tree leaves room. */
const TIME_COLUMN = 52;

/**
 * The trace as text: one line per span, indented below its cause, with the start since the first
 * span and the duration, both in milliseconds.
 */
export function formatTrace(trace: Trace): string {
  const first = trace.roots[0];
  if (!first) return `No trace of job ${trace.jid} on this host.\n`;
  const services = new Set<string>();
  const lines: string[] = [];
  for (const root of trace.roots) draw(root, '', '', first.startMs, lines, services);
  const endMs = trace.roots.reduce((latest, root) => Math.max(latest, lastEnd(root)), 0);
  const head =
    `job ${trace.jid}  trace ${trace.traceId}\n` +
    `${trace.spans} spans, ${services.size} services, ${ms(endMs - first.startMs)}`;
  return `${[head, '', ...lines, ...remarks(trace)].join('\n')}\n`;
}

/** The parts that the tree does not show, and why. */
function remarks({ returnsLeftOut, spansLeftOut, orphans }: Trace): string[] {
  const notes = [
    returnsLeftOut > 0
      ? `${returnsLeftOut} more returns without spans of their own (brine.trace)`
      : '',
    spansLeftOut > 0 ? `${spansLeftOut} more spans are not shown` : '',
    orphans > 0 ? `${orphans} spans whose cause is not recorded on this host` : '',
  ].filter((text) => text !== '');
  return notes.length === 0 ? [] : ['', ...notes];
}

function draw(
  node: TraceNode,
  lead: string,
  branch: string,
  zeroMs: number,
  lines: string[],
  services: Set<string>,
): void {
  services.add(node.service);
  const title = `${lead}${branch}${node.part}`;
  const start = ms(node.startMs - zeroMs).padStart(10);
  const times = `+${start} ${ms(node.endMs - node.startMs).padStart(11)}`;
  const details = detailsOf(node);
  lines.push(`${title.padEnd(TIME_COLUMN)} ${times}  ${node.service}${details}`);
  const inner = branch === '' ? '' : lead + (branch.startsWith('├') ? '│  ' : '   ');
  node.children.forEach((child, index) => {
    const last = index === node.children.length - 1;
    draw(child, inner, last ? '└─ ' : '├─ ', zeroMs, lines, services);
  });
}

function detailsOf(node: TraceNode): string {
  const pairs = Object.entries(node.attributes).map(([key, value]) => `${key}=${show(value)}`);
  if (node.links.length > 0) pairs.push(`link=${node.links[0]?.traceId ?? ''}`);
  if (node.orphan) pairs.push('cause=elsewhere');
  if (node.error !== undefined) pairs.push(`error=${JSON.stringify(node.error)}`);
  return pairs.length === 0 ? '' : `  ${pairs.join(' ')}`;
}

function show(value: SpanAttribute): string {
  return typeof value === 'string' && /\s/.test(value) ? JSON.stringify(value) : String(value);
}

function lastEnd(node: TraceNode): number {
  return node.children.reduce((latest, child) => Math.max(latest, lastEnd(child)), node.endMs);
}

function ms(value: number): string {
  return `${value.toFixed(value < 100 ? 2 : 0)} ms`;
}
