import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { DiffWorkError, unifiedDiff } from './unified-diff.ts';

interface Case {
  readonly one: readonly string[];
  readonly other: readonly string[];
  readonly shown: readonly string[];
}

const recording = new URL('../../../../test/fixtures/difflib/cases.json', import.meta.url);
const cases = JSON.parse(readFileSync(recording, 'utf8')) as readonly Case[];

test('texts differ as they do for the difflib of Python', () => {
  expect(cases.length).toBeGreaterThan(40);
  for (const { one, other, shown } of cases) {
    const found = unifiedDiff({ name: 'one', lines: one }, { name: 'other', lines: other });
    expect(found).toEqual(shown);
  }
});

test('texts that take too much work are not compared to the end', () => {
  // Ninety lines, over and over: each line of one text fits many of the other.
  const lines = Array.from({ length: 60_000 }, (_, at) => `l${(at * 7) % 150}`);
  const others = Array.from({ length: 60_000 }, (_, at) => `l${(at * 11) % 150}`);
  const compare = () =>
    unifiedDiff({ name: 'a', lines }, { name: 'b', lines: others.slice(0, 59_999) });
  expect(compare).toThrow(DiffWorkError);
});
