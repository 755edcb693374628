import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { HTTP_DIFFERENCES, httpDifferenceTable } from './differences.ts';
import { httpCases } from './recorded-http.ts';

test('docs/differences.md has the table of the wanted differences of HTTP', () => {
  const page = new URL('../../../docs/differences.md', import.meta.url);
  expect(readFileSync(page, 'utf8')).toContain(httpDifferenceTable());
});

test('each wanted difference of HTTP names a recorded case, and at most 2 % of them differ', () => {
  const recorded = httpCases('3008.2').map(({ name }) => name);
  const listed = HTTP_DIFFERENCES.map(({ name }) => name);
  expect(listed.filter((name) => !recorded.includes(name))).toEqual([]);
  expect(listed.length / recorded.length).toBeLessThan(0.02);
});
