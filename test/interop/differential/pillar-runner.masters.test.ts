import { drawn } from '@brine/testing/circle';
import { expect, test } from 'vitest';
import { fixture } from '../../../libs/pillar/test/trees.ts';
import {
  byMaster,
  recorded,
  type Shown,
  shownByBrine,
  shownBySalt,
  treeNames,
} from './pillar-runner.ts';

/*
 * `pillar.show_pillar` of Salt 3008 and of a running Brine master show the same, which is what
 * was recorded. A dozen of the trees; with BRINE_PILLAR_RUNNER=all each of them (some 20 minutes).
 */

const ALL = process.env['BRINE_PILLAR_RUNNER'] === 'all';
const DOZEN = [
  ...['body-dates', 'body-dictsort', 'body-json', 'body-slsmerge', 'body-undefined'],
  ...['include-chain', 'include-defaults-under', 'include-key-deep-under', 'merge-2-smart-plain'],
  ...['no-top', 'target-compound-parens-jinja', 'target-ipcidr-saltcall'],
];
const NAMES = ALL ? treeNames() : drawn('pillar trees of a runner', DOZEN, 4);
const BY_SCRIPT = ALL
  ? [...DOZEN.slice(0, 8), 'env-saltenv', 'env-pillarenv']
  : ['target-compound-parens-jinja'];
const RECORDED = recorded();

/** Trees of which Brine shows something else, and why. */
const DIFFERENCES = JSON.parse(fixture('differences.json')) as Record<string, string>;

function of(names: readonly string[]): Shown {
  return Object.fromEntries(names.map((name) => [name, RECORDED[name] ?? {}]));
}

test('the runner of Salt 3008 shows what was recorded', async () => {
  expect(await shownBySalt(NAMES)).toEqual(of(NAMES));
}, 3_600_000);

test('so does salt-run', async () => {
  expect(await shownBySalt(['--script', ...BY_SCRIPT])).toEqual(of(BY_SCRIPT));
}, 900_000);

test('so does brine run, at a running master', async () => {
  for (const names of byMaster(NAMES)) {
    const shown = await shownByBrine(names);
    for (const name of names) {
      if (name in DIFFERENCES) expect.soft(shown[name], name).not.toEqual(RECORDED[name]);
      else expect.soft(shown[name], name).toEqual(RECORDED[name]);
    }
  }
}, 3_600_000);
