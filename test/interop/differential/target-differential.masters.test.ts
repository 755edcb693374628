import { type CheckedMinions, checkMinions, matchMinion } from '@brine/target';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  ACCEPTED,
  data,
  fleet,
  GRAINS,
  isDecidedOtherwise,
  NODEGROUPS,
  target,
  toTarget,
} from './target-cases.ts';
import { askSalt } from './target-oracle.ts';

// The same questions each run: a difference must be found again.
const SEED = 20261120;

/** 100,000 and more with BRINE_TARGET_CASES; another BRINE_TARGET_SEED puts other questions. */
const CASES = Number(process.env['BRINE_TARGET_CASES'] ?? 3_000);
const RANDOM_SEED = Number(process.env['BRINE_TARGET_SEED'] ?? SEED);

/** So many questions go to one process of Salt. */
const BATCH = 10_000;

test('minions of Salt 3008 and ours judge each target alike', async () => {
  const loads = fc.sample(target, { seed: SEED, numRuns: 6_000 });
  const questions = loads.map((load, i) => {
    const id = ACCEPTED[i % ACCEPTED.length] ?? '';
    const data = GRAINS[id];
    const facts = { id, grains: data, pillar: data, nodegroups: NODEGROUPS };
    return { ask: 'minion', target: load, facts };
  });
  const answers = await askSalt(questions);
  const different = questions.flatMap(({ target: load, facts }, i) => {
    const ours = matchMinion(toTarget(load), facts);
    return ours === answers[i] ? [] : [{ load, id: facts.id, salt: answers[i], ours }];
  });
  expect(different).toEqual([]);
});

test('the master of Salt 3008 and ours expect the same minions', async () => {
  const alike = target.filter((load) => !isDecidedOtherwise(load, false));
  const loads = fc.sample(alike, { seed: SEED + 1, numRuns: 6_000 });
  const banks = { grains: GRAINS, pillar: GRAINS };
  const questions = loads.map((load) => {
    return { ask: 'master', target: load, accepted: ACCEPTED, banks, nodegroups: NODEGROUPS };
  });
  const answers = await askSalt(questions);
  const view = {
    accepted: new Set(ACCEPTED),
    grains: (id: string) => GRAINS[id],
    pillar: (id: string) => GRAINS[id],
    nodegroups: NODEGROUPS,
    cacheless: 'drop' as const,
  };
  const different = loads.flatMap((load, i) => {
    const { minions, missing } = checkMinions(toTarget(load), view);
    const ours = { minions: minions.sort(byCodePoint), missing: missing.sort(byCodePoint) };
    return JSON.stringify(ours) === JSON.stringify(answers[i])
      ? []
      : [{ load, salt: answers[i], ours }];
  });
  expect(different).toEqual([]);
});

function byCodePoint(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Calls `judge` with the size and the seed of each batch of {@link CASES}. */
async function inBatches(judge: (size: number, seed: number) => Promise<unknown[]>): Promise<void> {
  for (let done = 0; done < CASES; done += BATCH) {
    const size = Math.min(BATCH, CASES - done);
    expect((await judge(size, RANDOM_SEED + done)).slice(0, 20)).toEqual([]);
  }
}

/** Not greedy, Salt also names minions that have grains and no accepted key; ours has none such. */
function amongAccepted(found: CheckedMinions, accepted: readonly string[]): CheckedMinions {
  return { minions: found.minions.filter((id) => accepted.includes(id)), missing: found.missing };
}

const facts = fc.record({ id: fc.constantFrom(...ACCEPTED), grains: data, pillar: data });

test(
  'random minions are judged alike by themselves',
  () =>
    inBatches(async (size, seed) => {
      const cases = fc.sample(fc.tuple(target, facts), { seed, numRuns: size });
      const questions = cases.map(([load, one]) => {
        return { ask: 'minion', target: load, facts: { ...one, nodegroups: NODEGROUPS } };
      });
      const answers = await askSalt(questions);
      return questions.flatMap(({ target: load, facts: own }, i) => {
        const ours = matchMinion(toTarget(load), own);
        return ours === answers[i] ? [] : [{ load, own, salt: answers[i], ours }];
      });
    }),
  3_600_000,
);

test(
  'random minions are expected alike by their master',
  () =>
    inBatches(async (size, seed) => {
      const ids = fc.uniqueArray(fc.constantFrom(...ACCEPTED));
      const given = fc.tuple(target, ids, fleet, fleet, fc.boolean());
      const alike = given.filter(([load, accepted, grains, , greedy]) => {
        const someUnknown = greedy && accepted.some((id) => !Object.hasOwn(grains, id));
        return !isDecidedOtherwise(load, someUnknown);
      });
      const cases = fc.sample(alike, { seed: seed + 1, numRuns: size });
      const questions = cases.map(([load, accepted, grains, pillar, greedy]) => {
        const banks = { grains, pillar };
        return { ask: 'master', target: load, accepted, banks, nodegroups: NODEGROUPS, greedy };
      });
      const answers = await askSalt(questions);
      return questions.flatMap(({ target: load, accepted, banks, greedy }, i) => {
        const { minions, missing } = checkMinions(toTarget(load), {
          accepted: new Set(accepted),
          grains: (id) => banks.grains[id],
          pillar: (id) => banks.pillar[id],
          nodegroups: NODEGROUPS,
          cacheless: 'drop',
          greedy,
        });
        const salt = amongAccepted(answers[i] as CheckedMinions, accepted);
        const ours = { minions: minions.sort(byCodePoint), missing: missing.sort(byCodePoint) };
        const same = JSON.stringify(ours) === JSON.stringify(salt);
        return same ? [] : [{ load, accepted, banks, greedy, salt, ours }];
      });
    }),
  3_600_000,
);
