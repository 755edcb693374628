import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { BESIDE_CASES } from './beside-cases.ts';
import {
  BESIDE_DIFFERENCES,
  besideTable,
  HTTP_DIFFERENCES,
  httpDifferenceTable,
} from './differences.ts';
import { httpCases } from './recorded-http.ts';

test('docs/differences.md has the tables of the wanted differences of HTTP', () => {
  const page = new URL('../../../docs/differences.md', import.meta.url);
  const text = readFileSync(page, 'utf8');
  expect(text).toContain(httpDifferenceTable());
  expect(text).toContain(besideTable());
});

test('each wanted difference of HTTP names a recorded case, and at most 2 % of them differ', () => {
  const recorded = httpCases('3008.2').map(({ name }) => name);
  const listed = HTTP_DIFFERENCES.map(({ name }) => name);
  expect(listed.filter((name) => !recorded.includes(name))).toEqual([]);
  expect(listed.length / recorded.length).toBeLessThan(0.02);
});

test('each further difference names requests that are asked, and no request has two names', () => {
  const asked = BESIDE_CASES.map(({ name }) => name);
  expect(new Set(asked).size).toBe(asked.length);
  const listed = BESIDE_DIFFERENCES.flatMap(({ names }) => names);
  expect(listed.filter((name) => !asked.includes(name))).toEqual([]);
});
