import { describe, expect, test } from 'vitest';
import { fixture, renderSnippet, type SnippetResult, snippets } from '../test/snippets.ts';

// Recorded once from Salt by test/fixtures/jinja/record.py; the interop suite checks it.
const RECORDED = JSON.parse(fixture('results.json')) as Record<string, SnippetResult>;
const DIFFERENCES = JSON.parse(fixture('differences.json')) as Record<string, string>;

describe('a snippet renders as Salt renders it', () => {
  test.each([...snippets()].filter(([name]) => !(name in DIFFERENCES)))('%s', (name, template) => {
    expect(renderSnippet(template)).toEqual(RECORDED[name]);
  });
});

test('each listed difference is one', () => {
  for (const [name, reason] of Object.entries(DIFFERENCES)) {
    const template = snippets().get(name);
    expect(template, name).toBeDefined();
    expect(renderSnippet(template ?? ''), `${name}: ${reason}`).not.toEqual(RECORDED[name]);
  }
});
