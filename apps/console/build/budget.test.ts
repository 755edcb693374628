import { expect, test } from 'vitest';
import { BUDGET, overBudget, type SizedFile, sizesOf } from './budget.ts';

function file(fileName: string, gzip: number, more: Partial<SizedFile> = {}): SizedFile {
  return { fileName, gzip, isEntry: false, imports: [], ...more };
}

const BUILD = [
  file('main.js', 10, { isEntry: true, imports: ['react.js'] }),
  file('react.js', 20, { imports: ['deep.js'] }),
  file('deep.js', 30, { imports: ['react.js', 'gone.js'] }),
  file('page.js', 40, { imports: ['react.js'] }),
  file('main.css', 5),
  file('index.html', 1),
];

test('the first page loads what its scripts load, each once', () => {
  expect(sizesOf(BUILD)).toEqual({ first: 60, scripts: 100, styles: 5 });
});

test('a build of its sizes is in the budget', () => {
  expect(overBudget(BUILD)).toEqual([]);
  expect(overBudget([file('main.js', BUDGET.first, { isEntry: true })])).toEqual([]);
});

test('each part that is too large is named with its size', () => {
  const over = overBudget([
    file('main.js', BUDGET.first + 1, { isEntry: true }),
    file('page.js', BUDGET.scripts),
    file('main.css', BUDGET.styles + 1),
  ]);
  expect(over).toEqual([
    'first: 260001 bytes after gzip, more than 260000',
    'scripts: 820001 bytes after gzip, more than 560000',
    'styles: 45001 bytes after gzip, more than 45000',
  ]);
});
