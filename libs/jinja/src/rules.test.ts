import { describe, expect, test } from 'vitest';
import { renderSnippet, rules } from '../test/snippets.ts';

// Recorded from Salt, each row with its result; the interop suite checks it.
describe.each([...rules()])('%s', (_subject, rows) => {
  test.each(rows)('$rule', ({ template, result }) => {
    expect(renderSnippet(template)).toEqual(result);
  });
});

test('a rule stands once in its file', () => {
  for (const [subject, rows] of rules()) {
    expect(new Set(rows.map(({ rule }) => rule)).size, subject).toBe(rows.length);
  }
});
