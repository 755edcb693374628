import { type CheckedMinions, checkMinions } from '@brine/target';
import { newestOf, saltVenv } from '@brine/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  ACCEPTED,
  data,
  isDecidedOtherwise,
  NODEGROUPS,
  target,
  toTarget,
} from './target-cases.ts';
import { askSalt, ORACLE_3007 } from './target-oracle.ts';

/*
 * The minions that a master expects if it keeps those without data (`cacheless_targets: keep`),
 * or that keeps no data at all (`minion_data_cache: false`): the judge is Salt 3007.13, the last
 * that does the first. How values compare is judged by the newest.
 */

const SEED = Number(process.env['BRINE_TARGET_SEED'] ?? 20261122);
const CASES = Number(process.env['BRINE_TARGET_CASES'] ?? 3_000);

const ids = fc.uniqueArray(fc.constantFrom(...ACCEPTED));
/** 3007 has grains and pillar of a minion, or neither. */
const fleet = fc
  .dictionary(fc.constantFrom(...ACCEPTED), fc.tuple(data, data), {
    maxKeys: 5,
    noNullPrototype: true,
  })
  .map((known) => {
    const all = Object.entries(known);
    return {
      grains: Object.fromEntries(all.map(([id, [grains]]) => [id, grains])),
      pillar: Object.fromEntries(all.map(([id, [, pillar]]) => [id, pillar])),
    };
  });
/** Resources came with 3008: there they are words of their own, in 3007 globs. */
const asked = target.filter(
  (load) => !isDecidedOtherwise(load, false) && !/[TM]@/.test(String(load.tgt)),
);
const cases = fc.tuple(asked, ids, fleet, fc.boolean());

const sorted = ({ minions, missing }: CheckedMinions): CheckedMinions => ({
  minions: minions.toSorted(byCodePoint),
  missing: missing.toSorted(byCodePoint),
});
const byCodePoint = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

test.each([
  ['keeps whom it knows nothing of', true],
  ['has no data of minions', false],
])(
  'a master that %s expects whom Salt 3007.13 does',
  async (_name, dataCache) => {
    const sample = fc.sample(cases, { seed: SEED + Number(dataCache), numRuns: CASES });
    const questions = sample.map(([load, accepted, banks, greedy]) => {
      return { target: load, accepted, banks, greedy, dataCache, nodegroups: NODEGROUPS };
    });
    const newer = await saltVenv(newestOf('3007'));
    const answers = await askSalt(questions, ORACLE_3007, '3007.13', [newer.python]);
    const different = questions.flatMap(({ target: load, accepted, banks, greedy }, i) => {
      const found = checkMinions(toTarget(load), {
        accepted: new Set(accepted),
        grains: (id) => banks.grains[id],
        pillar: (id) => banks.pillar[id],
        nodegroups: NODEGROUPS,
        cacheless: 'keep',
        dataCache,
        greedy,
      });
      const { minions, missing } = answers[i] as CheckedMinions;
      // Not greedy, Salt also names minions that have grains and no accepted key; ours does not.
      const salt = { minions: minions.filter((id) => accepted.includes(id)), missing };
      const ours = sorted(found);
      const same = JSON.stringify(ours) === JSON.stringify(salt);
      return same ? [] : [{ load, accepted, banks, greedy, salt, ours }];
    });
    expect(different.slice(0, 20)).toEqual([]);
  },
  600_000,
);

test('without data Salt 3008 stumbles over compounds, and ours expects everybody', async () => {
  const load = { tgt: 'web1 and G@os:Debian', tgt_type: 'compound' };
  const accepted = ['web1', 'web2'];
  const banks = { grains: {}, pillar: {} };
  const question = { ask: 'master', target: load, accepted, banks, nodegroups: {} };
  const [salt] = await askSalt([{ ...question, dataCache: false }]);
  expect(salt).toEqual({ minions: [], missing: [] });
  const nothing = (): undefined => undefined;
  const view = { grains: nothing, pillar: nothing, nodegroups: {}, cacheless: 'drop' } as const;
  const ours = checkMinions(toTarget(load), {
    ...view,
    accepted: new Set(accepted),
    dataCache: false,
  });
  expect(ours.minions).toEqual(accepted);
});
