// The table of threats: each border has tests that are there, and a planted patch that they find.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { plantedBugs } from '../test/planted/bugs.ts';

const ROOT = new URL('..', import.meta.url).pathname;
const FILE = 'docs/internals/threats.md';

/** A row: a border, the tests that prove it, and the guards that they find missing. */
interface Border {
  readonly who: string;
  readonly reaches: string;
  readonly border: string;
  readonly tests: readonly string[];
  readonly guards: readonly string[];
}

function bordersIn(text: string): Border[] {
  return text
    .split(/^## /m)
    .slice(1)
    .flatMap((section) => {
      const who = section.slice(0, section.indexOf('\n'));
      const rows = section.split('\n').filter((line) => line.startsWith('| '));
      return rows.slice(2).map((row) => {
        const [, reaches = '', border = '', tests = '', guards = ''] =
          row.split(' | ').length === 4 ? ['', ...row.split(' | ')] : [];
        return {
          who,
          border,
          reaches: reaches.replace(/^\| /, ''),
          tests: [...tests.matchAll(/\]\(\.\.\/\.\.\/([^)]+)\)/g)].map(([, path = '']) => path),
          guards: [...guards.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
        };
      });
    });
}

/** What is wrong with a row, or nothing. */
function faultsOf({ who, reaches, border, tests, guards }: Border): string[] {
  const faults: string[] = [];
  const say = (text: string): void => void faults.push(`${who}, ${reaches}: ${text}`);
  if (reaches === '' || border === '') say('a row has four cells');
  if (tests.length === 0) say('no test');
  if (guards.length === 0) say('no guard');
  for (const path of tests) {
    const isTest = /\.test\.ts$/.test(path) && existsSync(join(ROOT, path));
    if (!isTest) say(`${path} is no test`);
  }
  const planted = new Map(plantedBugs().map((bug) => [bug.name, bug]));
  for (const name of guards) {
    const bug = planted.get(name);
    if (bug === undefined || !bug.path.includes('/guards/')) say(`${name} is not planted`);
    else if (!tests.includes(bug.finder)) say(`${name} is found by ${bug.finder}`);
  }
  return faults;
}

describe('the table of threats', () => {
  const borders = bordersIn(readFileSync(join(ROOT, FILE), 'utf8'));

  test('has a border of each attacker', () => {
    expect([...new Set(borders.map(({ who }) => who))]).toEqual([
      'A stranger',
      'A minion',
      'A limited user',
      'A local user',
      'A stock user',
      'One service',
      'A master above or below',
      'A holder of a backup or a bundle',
    ]);
    expect(borders.length).toBeGreaterThan(40);
  });

  test('names tests that are there, and guards that they find', () => {
    expect(borders.flatMap(faultsOf)).toEqual([]);
  });
});

test.each([
  ['| x | y | [a](../../tools/threats.test.ts) |  |', 'no guard'],
  ['| x | y |  | `id-is-a-path` |', 'no test'],
  ['| x | y | [a](../../tools/no-such.test.ts) | `id-is-a-path` |', 'is no test'],
  ['| x | y | [a](../../tools/threats.ts) | `id-is-a-path` |', 'is no test'],
  ['| x | y | [a](../../tools/threats.test.ts) | `no-such` |', 'is not planted'],
  ['| x | y | [a](../../tools/threats.test.ts) | `id-is-a-path` |', 'is found by'],
  ['| x | y | z |', 'a row has four cells'],
])('the row %s has a fault: %s', (row, fault) => {
  const head = '| reaches | border | tests | guards |\n| --- | --- | --- | --- |';
  const text = `## Who\n\n${head}\n${row}\n`;
  expect(bordersIn(text).flatMap(faultsOf).join('\n')).toContain(fault);
});
