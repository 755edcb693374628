import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { RunnerFunction } from './function.ts';
import { refusedBecause } from './plain/refused.ts';
import { RUNNERS, WHEELS } from './table.ts';

type Names = Readonly<Record<string, string>>;

// Recorded from the sources of Salt by test/fixtures/runner-functions/record.py.
const RECORDED = JSON.parse(
  readFileSync(
    new URL('../../../test/fixtures/runner-functions/functions.json', import.meta.url),
    'utf8',
  ),
) as Readonly<Record<string, Readonly<Record<'runner' | 'wheel', Names>>>>;

type Listed = Pick<RunnerFunction, 'parameters' | 'open'>;
const TABLES: Readonly<Record<'runner' | 'wheel', ReadonlyMap<string, Listed>>> = {
  runner: RUNNERS,
  wheel: WHEELS,
};

/** The names of the arguments, in the form of the recording. */
function argumentsOf({ parameters, open }: Listed): string {
  const more = open === undefined ? [] : { args: ['*'], kwargs: ['**'], any: ['*', '**'] }[open];
  return [...parameters.map(([name]) => name), ...more].join(' ');
}

describe.each(Object.keys(RECORDED))('Salt %s', (release) => {
  test.each(['runner', 'wheel'] as const)('each %s is served, or refused by name', (kind) => {
    const names = Object.keys(RECORDED[release]?.[kind] ?? {});
    expect(names.length).toBeGreaterThan(30);
    const lost = names.filter(
      (name) => !TABLES[kind].has(name) && refusedBecause(kind, name) === undefined,
    );
    expect(lost).toEqual([]);
  });
});

/** The newest release of the recording. */
const NEWEST = Object.keys(RECORDED).at(-1) ?? '';

test.each(['runner', 'wheel'] as const)(
  'each %s takes the arguments of the newest Salt',
  (kind) => {
    const served = Object.entries(RECORDED[NEWEST]?.[kind] ?? {}).flatMap(([name, salts]) => {
      const own = TABLES[kind].get(name);
      return own === undefined ? [] : [[name, argumentsOf(own), salts] as const];
    });
    expect(served.length).toBeGreaterThan(30);
    const others = served.filter(([, own, salts]) => own !== salts).map(([name]) => name);
    // Salt hands keywords on to salt.utils.http.query; here they are named. `from` is Brine's own.
    expect(others).toEqual(kind === 'runner' ? ['http.query', 'state.event'] : []);
  },
);
