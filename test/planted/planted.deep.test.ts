import { describe, expect, test } from 'vitest';
import { plantedBugs } from './bugs.ts';
import { misfit, Soil } from './soil.ts';

/** These are searched for each time; all of them by `npm run planted`. */
const SEARCHED = [
  'ack-before-append',
  'bad-row-keeps-the-others',
  'batch-one-more',
  'held-forgotten',
  'job-acked-before-commit',
  'serial-reused',
] as const;
const SEEDS = 60;

describe('planted bugs', () => {
  const bugs = plantedBugs();

  test('there are 20 at least', () => {
    expect(bugs.length).toBeGreaterThanOrEqual(20);
  });

  test.each(bugs)('the patch of $name fits the tree as it is', (bug) => {
    expect(misfit(bug)).toBe('');
  });

  test('some of them are found', { timeout: 600_000 }, async () => {
    using soil = new Soil();
    const missed: string[] = [];
    for (const name of SEARCHED) {
      const bug = bugs.find((one) => one.name === name);
      if (bug === undefined) throw new Error(`no planted bug ${name}`);
      const { found, how } = await soil.search(bug, SEEDS);
      if (!found) missed.push(`${name}: ${how}`);
    }
    expect(missed).toEqual([]);
  });
});
