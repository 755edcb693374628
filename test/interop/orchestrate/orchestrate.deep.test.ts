import type { BrineMaster } from '@brine/testing';
import { drawn } from '@brine/testing/circle';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DIFFERENCES } from './differences.ts';
import { orchestrations, type Outcome, recorded } from './orchestrations.ts';
import { runAtBrine, runOne, startOrchestrated } from './run-brine.ts';

/*
 * Every orchestration of the fixtures ends at a Brine master with stock minions as it ended at a
 * stock master: the same results and exit code, or a listed difference with its reason.
 * `test/interop/orchestrate/record.ts` asks the stock master again.
 */

/** Runs only cases that match, for work on a few of them. */
const ONLY = new RegExp(process.env['BRINE_ORCHESTRATE_ONLY'] ?? '');
const ALL = orchestrations().filter(({ name }) => ONLY.test(name));
const CASES = drawn('orchestrations', ALL, 25, ({ name }) => name);
const STOCK = recorded();
/** More differences than this are no accident of a loaded machine. */
const AGAIN_MAX = 20;

let master: BrineMaster;
let ours: Record<string, Outcome>;

beforeAll(async () => {
  master = await startOrchestrated();
  ours = await runAtBrine(master, CASES);
  await runDifferentAgain();
  process.stdout.write(table());
}, 1_800_000);
afterAll(() => master?.close());

/** Beside others a minion may answer too late: what differs unexpectedly runs once more, alone. */
async function runDifferentAgain(): Promise<void> {
  const again = CASES.filter(({ name }) => !isSame(name) && !(name in DIFFERENCES));
  if (again.length > AGAIN_MAX) return;
  for (const one of again) ours[one.name] = await runOne(master, one);
}

function isSame(name: string): boolean {
  return JSON.stringify(ours[name]) === JSON.stringify(STOCK[name]);
}

/** A line for each orchestration, and how many are the same. */
function table(): string {
  const lines = CASES.map(({ name }) => {
    const word = isSame(name) ? 'same' : name in DIFFERENCES ? 'listed' : 'DIFFERS';
    const exits = `${STOCK[name]?.exit ?? '-'} ${ours[name]?.exit ?? '-'}`;
    return `${name.padEnd(28)} ${exits.padEnd(8)} ${word}`;
  });
  const same = CASES.filter(({ name }) => isSame(name)).length;
  const title = `${'orchestration'.padEnd(28)} exits    results`;
  return `${[title, ...lines].join('\n')}\n${same} of ${CASES.length} the same\n`;
}

it('the orchestrations are those that the stock master was asked', () => {
  expect(Object.keys(STOCK).sort()).toEqual(orchestrations().map(({ name }) => name));
});

it.each(CASES.filter(({ name }) => !(name in DIFFERENCES)))(
  '$name: the same results and exit code',
  ({ name }) => {
    expect(ours[name]).toEqual(STOCK[name]);
  },
);

it('each listed difference is there', () => {
  const listed = CASES.filter(({ name }) => name in DIFFERENCES);
  expect(listed.filter(({ name }) => isSame(name)).map(({ name }) => name)).toEqual([]);
});
