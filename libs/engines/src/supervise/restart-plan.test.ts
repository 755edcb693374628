import { expect, test } from 'vitest';
import { RestartPlan } from './restart-plan.ts';

test('waits grow up to a minute, then it is given up and tried now and then', () => {
  const plan = new RestartPlan();
  const waits = Array.from({ length: 12 }, () => plan.next(100) / 1000);
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60, 600, 600, 600]);
  expect(plan.isGivenUp).toBe(true);
});

test('an engine that ran for a minute begins with the first wait again', () => {
  const plan = new RestartPlan();
  for (let ends = 0; ends < 11; ends += 1) plan.next(100);
  expect(plan.next(60_000)).toBe(1_000);
  expect(plan.isGivenUp).toBe(false);
});
