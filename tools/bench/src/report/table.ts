import { markdownTable } from 'markdown-table';
import type { MasterName } from '../masters/master.ts';
import { STOCK_NAMES } from '../masters/master.ts';
import type { Spread } from '../measure/statistics.ts';
import type { Cell, Figure, Unit } from './figure.ts';

const titleOf = (name: MasterName): string => (name === 'brine' ? 'Brine' : `Salt ${name}`);

/** The figures as a table of Markdown: aligned for a terminal, with bare cells for a document. */
export function drawTable(figures: readonly Figure[], aligned = true): string {
  const stock = STOCK_NAMES.filter((name) => figures.some(({ cells }) => cells[name]));
  const masters: readonly MasterName[] = ['brine', ...stock];
  const head = ['', ...masters.map(titleOf), ...stock.map((name) => `to ${name}`)];
  const rows = figures.map((figure) => [
    `${figure.name}${unitText(figure.unit)}`,
    ...masters.map((name) => showCell(figure.cells[name])),
    ...stock.map((name) => showRatio(figure.ratios[name])),
  ]);
  const align = ['l', ...head.slice(1).map(() => 'r')];
  return markdownTable([head, ...rows], { align, alignDelimiters: aligned });
}

/** A number as people read it: three figures, thousands apart. */
export function showNumber(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString('en-US');
  const digits = size >= 10 ? 1 : 2;
  return String(Number(value.toFixed(digits)));
}

/** `4.1× (3.8–4.4)`: the median of the pairs and their quartiles. */
export function showRatio(spread: Spread | undefined): string {
  if (spread === undefined) return '';
  const { median, q1, q3, count } = spread;
  const between = count > 1 ? ` (${showNumber(q1)}–${showNumber(q3)})` : '';
  return `${showNumber(median)}×${between}`;
}

function showCell(cell: Cell | undefined): string {
  if (cell === undefined) return '';
  const words = [
    cell.value === undefined ? '' : showNumber(cell.value),
    cell.rigBound === true ? 'rig' : '',
    cell.note ?? '',
  ].filter((word) => word !== '');
  const [first = '', ...rest] = words;
  return rest.length === 0 ? first : `${first} (${rest.join(', ')})`;
}

function unitText(unit: Unit): string {
  return unit === 'count' || unit === '1/s' ? '' : `, ${unit}`;
}
