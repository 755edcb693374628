import { styleText } from 'node:util';
import { plainText } from '@brine/wire/text';
import { stateOf } from '../cluster-status/draw-cluster.ts';
import { figures, uptime } from '../cluster-status/figures.ts';
import { queuesOf } from '../cluster-status/queues.ts';
import { type Cluster, silentHosts, troubleOf } from '../roll/roll.ts';
import type { JobLine, TopData } from './source.ts';
import { type TopState, VIEWS } from './state.ts';

/** The terminal as it is now. */
export interface Sheet {
  readonly columns: number;
  readonly rows: number;
  readonly color: boolean;
}

/** A picture, with the facts that keys need. */
export interface Drawing {
  readonly text: string;
  /** Rows that match the filter, on screen or not. */
  readonly rows: number;
  /** Rows that fit on the screen. */
  readonly page: number;
  /** The jobs of the rows, in their order. */
  readonly jids: readonly string[];
}

type Style = 'red' | 'green' | 'yellow' | 'dim' | 'bold' | 'inverse';

interface Row {
  readonly cells: readonly string[];
  readonly style?: Style;
  readonly jid?: string;
}

interface Table {
  readonly heads: readonly string[];
  /** Widths of columns; the last one takes the rest. */
  readonly widths: readonly number[];
  readonly rows: readonly Row[];
  /** Reason that is shown instead of rows. */
  readonly why?: string | undefined;
}

/** Lines above the rows and below them. */
const FRAME_LINES = 5;

const HELP = [
  '1 2 3 4, Tab   services, queues, jobs, minions',
  'arrows, j k    move; Page Up, Page Down, Home, End',
  'Enter          of a job: which minions are silent, and why',
  '/              show only rows with a text; Escape ends it',
  '+ -            ask less often, ask more often',
  'p, Space       pause or resume; r: refresh now',
  'q, Ctrl-C      end',
];

/** Draws one picture. No line is wider than the terminal, and all fit on it. */
export function draw(
  state: TopState,
  data: TopData | undefined,
  sheet: Sheet,
  title: string,
): Drawing {
  const paint = (style: Style | undefined, text: string): string =>
    style === undefined || !sheet.color ? text : styleText(style, text, { validateStream: false });
  const line = (text: string, style?: Style): string => paint(style, cut(text, sheet.columns - 1));
  const page = Math.max(1, sheet.rows - FRAME_LINES - 1);
  const table = data === undefined ? undefined : tableOf(state, data);
  const matching = (table?.rows ?? []).filter(({ cells }) =>
    cells.some((cell) => cell.toLowerCase().includes(state.filter.toLowerCase())),
  );
  const row = Math.min(state.row, Math.max(0, matching.length - 1));
  const first = Math.max(0, Math.min(row - Math.floor(page / 2), matching.length - page));
  const body =
    state.help || table === undefined
      ? (state.help ? HELP : ['asking the master …']).map((text) => line(text))
      : bodyOf(table, matching.slice(first, first + page), row - first, { sheet, paint, line });
  const lines = [
    line(headLine(state, data, title), 'bold'),
    ...summaryOf(data).map(({ text, style }) => line(text, style)),
    line(tabs(state) + countsOf(state, data)),
    ...body.slice(0, page + 1),
    line(footer(state, matching.length), 'dim'),
  ];
  const jids = matching.flatMap(({ jid }) => jid ?? []);
  return { text: lines.slice(0, sheet.rows - 1).join('\n'), rows: matching.length, page, jids };
}

interface Pen {
  readonly sheet: Sheet;
  readonly paint: (style: Style | undefined, text: string) => string;
  readonly line: (text: string, style?: Style) => string;
}

function bodyOf(
  { heads, widths, why }: Table,
  rows: readonly Row[],
  marked: number,
  { sheet, paint, line }: Pen,
): string[] {
  const wide = sheet.columns - 1;
  const text = (cells: readonly string[]): string => cut(joined(cells, widths), wide);
  const head = paint('inverse', text(heads).padEnd(wide));
  if (why !== undefined) return [head, line(why, 'red')];
  if (rows.length === 0) return [head, line('none')];
  return [
    head,
    ...rows.map(({ cells, style }, at) => {
      // Without colours this sign marks the row.
      const mark = at === marked ? '>' : ' ';
      return paint(
        at === marked ? 'inverse' : style,
        cut(mark + joined(cells, widths).slice(1), wide),
      );
    }),
  ];
}

/** Cells begin after one column for the mark. */
function joined(cells: readonly string[], widths: readonly number[]): string {
  const parts = cells.map((cell, at) => {
    const width = widths[at];
    return width === undefined ? narrow(cell) : narrow(cell).slice(0, width).padEnd(width);
  });
  return ` ${parts.join(' ')}`;
}

function headLine(state: TopState, data: TopData | undefined, title: string): string {
  const time = data === undefined ? '' : `   ${new Date(data.atMs).toTimeString().slice(0, 8)}`;
  const rate =
    data?.perSecond === undefined ? '' : `   ${data.perSecond.toFixed(1)} requests answered/s`;
  const pausedText = state.paused ? '   PAUSED' : '';
  return `brine top   ${title}${time}   every ${state.everyMs / 1000} s${pausedText}${rate}`;
}

/** A summary in one line. */
function summaryOf(data: TopData | undefined): readonly { text: string; style?: Style }[] {
  if (data === undefined) return [{ text: '' }];
  const { cluster } = data;
  if (typeof cluster === 'string') return [{ text: `no answer: ${cluster}`, style: 'red' }];
  const trouble = [
    ...troubleOf(cluster),
    ...silentHosts(cluster).map(({ host }) => `host ${host} is silent`),
  ];
  const more = trouble.length > 1 ? ` (and ${trouble.length - 1} more)` : '';
  if (trouble.length > 0) return [{ text: `${trouble[0] ?? ''}${more}`, style: 'red' }];
  const count = new Set(cluster.services.map(({ host }) => host)).size;
  const hosts = count === 1 ? '1 host' : `${count} hosts`;
  const text = `serving: ${hosts}, ${cluster.services.length} services${presenceText(cluster)}`;
  return [{ text, style: 'green' }];
}

function presenceText({ services }: Cluster): string {
  for (const { status } of services) {
    const presence = status['presence'];
    if (typeof presence !== 'object' || presence === null || !('present' in presence)) continue;
    if (typeof presence.present === 'number') return `, ${presence.present} minions connected`;
  }
  return '';
}

function tabs({ view, jid }: TopState): string {
  const names = VIEWS.map((name, at) => {
    const text = `${at + 1} ${name}`;
    return name === view ? `[${text}]` : ` ${text} `;
  });
  return `${names.join(' ')}${jid === undefined ? '' : `   job ${jid}`}`;
}

/** Counts of all minions; the view lists only those that are not connected. */
function countsOf({ view }: TopState, data: TopData | undefined): string {
  const minions = data?.minions;
  if (view !== 'minions' || typeof minions !== 'object') return '';
  const counts = [...minions.keys].map(([state, count]) => `${count} ${state}`);
  const keys = counts.length === 0 ? 'no keys' : counts.join(', ');
  const { present } = minions;
  return `   ${keys}; ${present === undefined ? 'presence unknown' : `${present} connected`}`;
}

function footer({ typing, filter, jid }: TopState, rows: number): string {
  if (typing) return `show only: ${filter}_`;
  const only = filter === '' ? '' : `   only "${filter}", Escape: all`;
  const back = jid === undefined ? '' : '   Escape: back';
  return `${rows} rows${only}${back}   ? help   q end`;
}

function tableOf(state: TopState, data: TopData): Table {
  if (state.jid !== undefined) return silentTable(data);
  if (state.view === 'jobs') return jobTable(data);
  if (state.view === 'minions') return minionTable(data);
  const { cluster } = data;
  if (typeof cluster === 'string') {
    return { heads: [state.view], widths: [], rows: [], why: `not known: ${cluster}` };
  }
  return state.view === 'queues' ? queueTable(cluster) : serviceTable(cluster, data.atMs);
}

function serviceTable({ services }: Cluster, nowMs: number): Table {
  const rows = services.map((one): Row => {
    const shown = stateOf(one);
    const style = shown === 'not ready' ? 'red' : shown === 'leaving' ? 'yellow' : undefined;
    const up = uptime(one.startedMs, nowMs);
    const cells = [one.name, one.machine, shown, up, plainText(figures(one.status))];
    return { cells, ...(style === undefined ? {} : { style }) };
  });
  return { heads: ['service', 'machine', 'state', 'up', 'figures'], widths: [20, 16, 9, 7], rows };
}

function queueTable(cluster: Cluster): Table {
  const rows = queuesOf(cluster).map((one): Row => {
    const share = one.share === 0 ? '' : `${Math.round(one.share * 100)} %`;
    const cells = [one.name, String(one.waiting), String(one.inHand), share, one.kind];
    if (one.share > 0.9) return { cells, style: 'red' };
    const isSlow = one.share > 0.7 || (one.kind !== 'stream' && one.waiting > 1_000);
    return isSlow ? { cells, style: 'yellow' } : { cells };
  });
  return { heads: ['queue', 'waiting', 'in hand', 'full', 'kind'], widths: [38, 9, 8, 6], rows };
}

function jobTable({ jobs, atMs }: TopData): Table {
  const heads = ['jid', 'function', 'target', 'waiting', 'done', 'failed', 'missed', 'age', 'user'];
  const widths = [20, 16, 10, 7, 6, 6, 6, 6];
  const rows = Array.isArray(jobs) ? jobs.map((one: JobLine) => jobRow(one, atMs)) : [];
  return { heads, widths, rows, ...reasonOf(jobs) };
}

function jobRow({ jid, fun, target, user, startedMs, ledger }: JobLine, nowMs: number): Row {
  const count = (value: number | undefined): string => (value === undefined ? '-' : String(value));
  const cells = [
    ...[jid, fun, target],
    ...[ledger?.waiting, ledger?.returned, ledger?.failed, ledger?.missed].map(count),
    ...[uptime(startedMs, nowMs), user],
  ];
  if (ledger === undefined) return { cells, jid };
  if (ledger.failed > 0 || ledger.missed > 0) return { cells, jid, style: 'red' };
  return ledger.waiting > 0 ? { cells, jid, style: 'yellow' } : { cells, jid };
}

function minionTable({ minions, atMs }: TopData): Table {
  if (typeof minions !== 'object') {
    return { heads: ['minion'], widths: [], rows: [], ...reasonOf(minions) };
  }
  const rows = minions.listed.map(({ id, state, goneMs, address }): Row => {
    const cells = [id, state, goneMs === 0 ? '-' : uptime(goneMs, atMs), address];
    return { cells, style: state === 'pending' ? 'yellow' : 'red' };
  });
  return { heads: ['minion', 'state', 'lost', 'address'], widths: [36, 8, 7], rows };
}

function silentTable({ silent }: TopData): Table {
  const rows = Array.isArray(silent)
    ? silent.map(({ id, cause, text }): Row => ({ cells: [id, cause, text] }))
    : [];
  return { heads: ['silent minion', 'cause', 'why'], widths: [28, 14], rows, ...reasonOf(silent) };
}

function reasonOf(part: unknown): { readonly why?: string } {
  if (typeof part === 'string') return { why: `not known: ${part}` };
  return part === undefined ? { why: 'asking the master …' } : {};
}

/** Characters that take two columns, or none: a row with them would not fit. */
const UNEVEN =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uffe6]|\p{M}|[\u{10000}-\u{10ffff}]/gu;

function narrow(text: string): string {
  return text.replace(UNEVEN, '?');
}

function cut(text: string, columns: number): string {
  return narrow(text).slice(0, Math.max(0, columns));
}
