/** Output of a program, with its time in ms after the start. */
export interface Chunk {
  readonly ms: number;
  readonly text: string;
}

/** Lines that appear together. */
interface Frame {
  readonly ms: number;
  readonly lines: readonly string[];
}

const ROWS = 30;
const COLUMNS = 116;
/** Limits for the shown pauses of the program. */
const PAUSE_MS = { least: 350, most: 1400 };
/** Added to the pause after a block for each line, for reading. */
const READING_MS_PER_LINE = 45;
/** Width of a column and height of a row at 12 px; fonts differ a little. */
const CELL = { width: 7.23, height: 16 };
const MARGIN = 14;

/**
 * A recording as an animated SVG that needs no script: lines appear and scroll once. Without
 * animations it shows the last screen.
 */
export function drawRecording(command: string, chunks: readonly Chunk[]): string {
  const frames = pace([{ ms: 0, text: `$ ${command}\n` }, ...chunks]);
  const total = frames.at(-1)?.ms ?? 0;
  const groups: string[] = [];
  const stops: string[] = [];
  let row = 0;
  for (const { ms, lines } of frames) {
    const texts = lines.map((line, index) => drawLine(line, row + index));
    groups.push(`<g style="animation-delay:${seconds(ms)}s">${texts.join('')}</g>`);
    row += lines.length;
    stops.push(`${((100 * ms) / Math.max(total, 1)).toFixed(2)}%{transform:${scroll(row)}}`);
  }
  const width = Math.ceil(COLUMNS * CELL.width + 2 * MARGIN);
  const rows = ROWS * CELL.height;
  const height = rows + 2 * MARGIN;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}">`,
    `<title>${escape(command)}</title>`,
    `<style>${style(seconds(total), stops.join(''), scroll(row))}</style>`,
    `<rect class="w" width="${width}" height="${height}" rx="6"/>`,
    `<svg x="${MARGIN}" y="${MARGIN}" width="${width - 2 * MARGIN}" height="${rows}">`,
    `<g id="s">`,
    ...groups,
    '</g>',
    '</svg>',
    '</svg>',
    '',
  ].join('\n');
}

/** Chunks as frames of whole lines, with pauses that a reader can follow. */
function pace(chunks: readonly Chunk[]): Frame[] {
  const frames: Frame[] = [];
  let rest = '';
  let last = 0;
  let shown = 0;
  for (const { ms, text } of chunks) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    if (lines.length === 0) continue;
    const pause = Math.min(Math.max(ms - last, PAUSE_MS.least), PAUSE_MS.most);
    const reading = (frames.at(-1)?.lines.length ?? 0) * READING_MS_PER_LINE;
    if (frames.length > 0) shown += pause + reading;
    last = ms;
    frames.push({ ms: shown, lines });
  }
  return frames;
}

function drawLine(line: string, row: number): string {
  if (line === '') return '';
  const cut = line.length > COLUMNS ? `${line.slice(0, COLUMNS - 1)}…` : line;
  const kind = line.startsWith('$ ') ? ' class="c"' : '';
  return `<text y="${row * CELL.height + 12}"${kind}>${escape(cut)}</text>`;
}

/** The scroll position after `rows` lines. */
function scroll(rows: number): string {
  return `translateY(${-Math.max(0, rows - ROWS) * CELL.height}px)`;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(2);
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function style(total: string, stops: string, end: string): string {
  return [
    'text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}',
    'text{white-space:pre;fill:#24292f}',
    '.c{font-weight:bold;fill:#0550ae}',
    '.w{fill:#f6f8fa;stroke:#d0d7de}',
    '@media(prefers-color-scheme:dark){text{fill:#d0d7de}.c{fill:#79c0ff}.w{fill:#161b22;stroke:#30363d}}',
    `#s{transform:${end};animation:s ${total}s step-end}`,
    '#s g{animation:a 10ms step-end backwards}',
    `@keyframes s{${stops}}`,
    '@keyframes a{from{opacity:0}}',
    '@media(prefers-reduced-motion:reduce){#s,#s g{animation:none}}',
  ].join('');
}
