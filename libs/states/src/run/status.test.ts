import { readFileSync } from 'node:fs';
import { mapOf, type SaltMap } from '@brine/wire';
import { expect, test } from 'vitest';
import type { Requisite } from '../compile/requisites.ts';
import { type Chunk, tagOf } from '../values.ts';
import { type Status, statusOf } from './status.ts';

/** Salt's verdicts, from test/fixtures/requisites/record.py. */
interface Recorded {
  readonly letters: Readonly<Record<string, Status>>;
  readonly outcomes: readonly string[];
  readonly tables: Readonly<Record<string, string>>;
}

const FILE = new URL('../../../../test/fixtures/requisites/statuses.json', import.meta.url);
const { letters, outcomes, tables } = JSON.parse(readFileSync(FILE, 'utf8')) as Recorded;
const RESULTS: Readonly<Record<string, boolean | null>> = { t: true, f: false, n: null };

function resultOf(outcome: string): SaltMap {
  const ret = mapOf({
    result: RESULTS[outcome.charAt(0)] ?? null,
    changes: outcome.includes('c') ? mapOf({ a: 1 }) : mapOf({}),
  });
  if (outcome.includes('s')) ret.set('skip_req', true);
  return outcome.includes('x') ? ret.set('__state_ran__', false) : ret;
}

/** The status of a state whose requisites name states with these outcomes. */
function judged(wanted: readonly (readonly [Requisite, string])[]): Status {
  const requirements = new Map<Requisite, Chunk[]>();
  const running = new Map<string, SaltMap>();
  for (const [n, [kind, outcome]] of wanted.entries()) {
    const chunk = mapOf({ state: 't', __id__: String(n), name: String(n), fun: 'x' });
    requirements.set(kind, [...(requirements.get(kind) ?? []), chunk]);
    if (outcome !== '-') running.set(tagOf(chunk), resultOf(outcome));
  }
  return statusOf(requirements, running, running, false);
}

/** The cells of a table: the outcomes, and the letter for Salt's verdict. */
function cellsOf(count: number): readonly (readonly string[])[] {
  return count === 1
    ? outcomes.map((one) => [one])
    : outcomes.flatMap((one) => outcomes.map((other) => [one, other]));
}

test('the table has all requisites, each with each', () => {
  const kinds = Object.keys(tables).filter((name) => !name.includes('+'));
  expect(kinds).toHaveLength(10);
  expect(Object.keys(tables)).toHaveLength(10 + 55);
  expect(outcomes).toHaveLength(25);
});

test.each(Object.entries(tables))('%s means what it means to Salt', (name, row) => {
  const kinds = name.split('+') as Requisite[];
  const cells = cellsOf(kinds.length);
  expect(row).toHaveLength(cells.length);
  const different: string[] = [];
  for (const [n, cell] of cells.entries()) {
    const stock = letters[row.charAt(n)];
    const ours = judged(kinds.map((kind, at) => [kind, cell[at] ?? '-']));
    if (ours !== stock) different.push(`${cell.join('+')}: ${ours}, Salt: ${String(stock)}`);
  }
  expect(different).toEqual([]);
});
