import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { readArguments } from './arguments.ts';
import { cellOf, figureOf } from './report/figure.ts';
import type { Row, RowContext } from './rows/row.ts';
import { chooseRows, runRows } from './run-rows.ts';

const FIGURE = figureOf({
  row: 'good',
  name: 'good',
  unit: 's',
  better: 'less',
  cells: { brine: cellOf([1]) },
});
const GOOD: Row = { name: 'good', about: '', inTable: true, run: () => Promise.resolve([FIGURE]) };
const BAD: Row = {
  name: 'bad',
  about: '',
  inTable: false,
  run: () => Promise.reject(new Error('no master\nits log')),
};
const CONTEXT: RowContext = {
  installed: { checkout: fileURLToPath(new URL('../../..', import.meta.url)), stock: new Map() },
  pairs: 1,
  sliceSeconds: 1,
  minionsMax: 1,
  say: () => undefined,
};

it('rows behind the table run only by name', () => {
  expect(chooseRows([GOOD, BAD], [])).toEqual([GOOD]);
  expect(chooseRows([GOOD, BAD], ['bad'])).toEqual([BAD]);
});

it('a row that fails is reported with its reason, and the next one runs', async () => {
  const kept: number[] = [];
  const args = readArguments([], ['good', 'bad']);
  const report = await runRows([BAD, GOOD], args, CONTEXT, 'bench', async (soFar) => {
    kept.push(soFar.figures.length);
  });
  expect(report.failures).toEqual([{ row: 'bad', reason: 'no master' }]);
  expect(report.figures).toEqual([FIGURE]);
  expect(kept).toEqual([0, 1]);
});
