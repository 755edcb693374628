import { readFileSync } from 'node:fs';
import { renderTemplate } from '@brine/jinja';
import { mapOf } from '@brine/wire';
import { describe, expect, test } from 'vitest';
import { hostFilters } from './filters/host-filters.ts';

type Kind = 'filters' | 'tests' | 'globals';

function fixture<T>(name: string): Record<Kind, T> {
  const url = new URL(`../../../test/fixtures/jinja/${name}`, import.meta.url);
  return JSON.parse(readFileSync(url, 'utf8')) as Record<Kind, T>;
}

const NAMES = fixture<readonly string[]>('names.json');
const ABSENT = fixture<Readonly<Record<string, string>>>('names-absent.json');

function isThere(kind: Kind, name: string): boolean {
  const shown = {
    filters: `{{ '${name}' is filter }}`,
    tests: `{{ '${name}' is test }}`,
    globals: `{{ ${name} is defined }}`,
  }[kind];
  const outside = { now: () => 0, random: () => 0, load: () => undefined };
  const filters = hostFilters(mapOf({}));
  return (
    renderTemplate(shown, { variables: new Map(), outside: { ...outside, filters } }) === 'True'
  );
}

// Recorded from Salt by test/fixtures/jinja/names.py; the interop suite checks it.
describe.each(['filters', 'tests', 'globals'] as const)('%s of Salt', (kind) => {
  test.each(NAMES[kind].filter((name) => !(name in ABSENT[kind])))('%s is there', (name) => {
    expect(isThere(kind, name)).toBe(true);
  });

  test.each([['no_such_name', ''], ...Object.entries(ABSENT[kind])])('%s is absent', (name) => {
    expect(isThere(kind, name)).toBe(false);
  });

  test('what is listed as absent is there in Salt', () => {
    expect(NAMES[kind]).toEqual(expect.arrayContaining(Object.keys(ABSENT[kind])));
  });
});
