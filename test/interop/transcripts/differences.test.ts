import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { DIFFERENCES, differenceTable } from './differences.ts';
import { recordedCases } from './recorded-cases.ts';

test('docs/differences.md has the table of the wanted differences', () => {
  const page = new URL('../../../docs/differences.md', import.meta.url);
  expect(readFileSync(page, 'utf8')).toContain(differenceTable());
});

test('each wanted difference names a recorded case, once', () => {
  const recorded = new Set([...recordedCases('3008'), ...recordedCases('3006')].map(nameOf));
  const listed = DIFFERENCES.map(nameOf);
  expect(listed.filter((name) => !recorded.has(name))).toEqual([]);
  const pairs = DIFFERENCES.map(({ name, tools }) => `${name} ${tools}`);
  expect(new Set(pairs).size).toBe(pairs.length);
});

function nameOf({ name }: { readonly name: string }): string {
  return name;
}
