import { beforeAll, expect, it } from 'vitest';
import { DIFFERENCES } from './differences.ts';
import { NOT_AT_STOCK, type Reactions, reactorCases, recorded } from './reactor-cases.ts';
import { reactAtBrine } from './run-brine.ts';

/*
 * Each event at a whole master with stock minions: the same jobs for the same minions, and the same
 * calls of runners and wheels, as a stock master made.
 */

let found: Readonly<Record<string, Reactions>>;

beforeAll(async () => {
  found = await reactAtBrine(reactorCases(), { workers: 2 });
}, 900_000);

const SAME = reactorCases().filter(({ name }) => !(name in DIFFERENCES) && !(name in NOT_AT_STOCK));

it('there are many of them', () => {
  expect(SAME.length).toBeGreaterThan(70);
});

it.each(SAME)('$name comes to what a stock master makes of it', ({ name }) => {
  expect(found[name]).toEqual(recorded()[name]);
});

it('the files of a glob come by name', () => {
  expect(found['glob-of-files']?.jobs.map(({ arg }) => arg)).toEqual([
    ['of the second file'],
    ['of the first file'],
  ]);
});

it('what ends the reactor of a stock master harms itself only here', () => {
  expect(found['unknown-kind']).toEqual({ jobs: [], runs: [] });
  expect(found['caller-new']?.runs).toEqual([
    { fun: 'runner.salt.cmd', fun_args: ['test.arg', { first: 'zsh' }] },
  ]);
  expect(found['caller-old']?.runs).toEqual([
    { fun: 'runner.salt.cmd', fun_args: ['test.arg', 'zsh'] },
  ]);
  // The cases before and after it in the alphabet, by the same workers.
  expect(found['two-kinds']?.jobs).toHaveLength(1);
  expect(found['wheel-new']?.runs).toHaveLength(1);
});
