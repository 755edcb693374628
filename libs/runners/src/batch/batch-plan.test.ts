import { describe, expect, it, test } from 'vitest';
import { BatchPlan, type BatchSettings, settingsMap, settingsOf } from './batch-plan.ts';

const SETTINGS: BatchSettings = {
  size: '2',
  waitMs: 0,
  failhard: false,
  timeoutMs: 5_000,
  gatherMs: 10_000,
};
const IDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'];

function planOf(settings: Partial<BatchSettings> = {}, ids = IDS): BatchPlan {
  return new BatchPlan(ids, { ...SETTINGS, ...settings }, 0);
}

test('as many run as the batch is wide, and a return makes room for one', () => {
  const plan = planOf();
  expect(plan.dispatch(0)).toEqual(['a', 'b']);
  expect(plan.dispatch(0)).toEqual([]);
  expect(plan.returned('b', 0, 1)).toBe(true);
  expect(plan.dispatch(1)).toEqual(['c']);
  expect(plan.counts).toMatchObject({ total: 10, completed: 1, active: 2, pending: 7 });
});

test('a second return, and one of a minion that was not asked, count for nothing', () => {
  const plan = planOf();
  plan.dispatch(0);
  plan.returned('a', 0, 1);
  expect(plan.returned('a', 3, 1)).toBe(false);
  expect(plan.returned('j', 3, 1)).toBe(false);
  expect(plan.counts).toMatchObject({ completed: 1, highest: 0 });
});

test('a share of the minions is rounded as in Salt', () => {
  expect(planOf({ size: '25%' }).dispatch(0)).toEqual(['a', 'b']);
  expect(planOf({ size: '1%' }).dispatch(0)).toEqual(['a']);
});

test('with --batch-wait a slot stays empty for that time', () => {
  const plan = planOf({ waitMs: 500 });
  plan.dispatch(0);
  plan.returned('a', 0, 100);
  expect(plan.dispatch(100)).toEqual([]);
  expect(plan.wakeMs()).toBe(600);
  expect(plan.dispatch(600)).toEqual(['c']);
});

describe('a failed minion', () => {
  it('ends a failhard batch, and no other begins', () => {
    const plan = planOf({ failhard: true });
    plan.dispatch(0);
    plan.returned('a', 3, 1);
    expect(plan.halted).toBe('failhard');
    expect(plan.dispatch(1)).toEqual([]);
    expect(plan.isOver).toBe(true);
  });

  it('is borne without failhard', () => {
    const plan = planOf();
    plan.dispatch(0);
    plan.returned('a', 3, 1);
    expect(plan.halted).toBeUndefined();
    expect(plan.counts.highest).toBe(3);
  });

  it('ends the batch when there are more than --batch-halt', () => {
    const plan = planOf({ halt: '10%' });
    plan.dispatch(0);
    plan.returned('a', 1, 1);
    expect(plan.halted).toBeUndefined();
    plan.returned('b', 1, 1);
    expect(plan.halted).toBe('failures');
  });
});

describe('canaries', () => {
  it('run alone until all of them have come back well', () => {
    const plan = planOf({ size: '5', canary: '2' });
    expect(plan.dispatch(0)).toEqual(['a', 'b']);
    plan.returned('a', 0, 1);
    expect(plan.dispatch(1)).toEqual([]);
    plan.returned('b', 0, 1);
    expect(plan.dispatch(1)).toEqual(['c', 'd', 'e', 'f', 'g']);
    plan.returned('c', 9, 2);
    expect(plan.halted).toBeUndefined();
  });

  it('end the batch when one of them fails', () => {
    const plan = planOf({ size: '5', canary: '20%' });
    plan.dispatch(0);
    plan.returned('b', 1, 1);
    expect(plan.halted).toBe('canary');
  });

  it('end the batch when one of them is silent', () => {
    const plan = planOf({ size: '5', canary: '1' });
    plan.dispatch(0);
    plan.toAsk(5_000);
    plan.expire(15_000);
    expect(plan.halted).toBe('canary');
  });
});

test('a minion that does not return is asked, and has its time again when it runs', () => {
  const plan = planOf();
  plan.dispatch(0);
  expect(plan.toAsk(4_999)).toEqual([]);
  expect(plan.toAsk(5_000)).toEqual(['a', 'b']);
  plan.runs('a', 6_000);
  expect(plan.expire(14_999)).toEqual([]);
  expect(plan.expire(15_000)).toEqual(['b']);
  expect(plan.dispatch(15_000)).toEqual(['c']);
  expect(plan.toAsk(15_000)).toEqual(['a']);
  expect(plan.counts.failed).toBe(1);
});

test('a paused batch gives out nothing until it is resumed', () => {
  const plan = planOf();
  plan.dispatch(0);
  expect(plan.pause(true)).toBe(true);
  expect(plan.pause(true)).toBe(false);
  plan.returned('a', 0, 1);
  expect(plan.dispatch(1)).toEqual([]);
  plan.pause(false);
  expect(plan.dispatch(2)).toEqual(['c']);
});

test('what is saved goes on as it was', () => {
  const plan = planOf({ waitMs: 1_000 });
  plan.dispatch(0);
  plan.confirmPublished();
  plan.returned('a', 4, 1);
  plan.dispatch(1_100);
  plan.step({ dispatched: ['c'], finished: ['a'], silent: [] });
  const again = new BatchPlan(IDS, { ...SETTINGS, waitMs: 1_000 }, 2_000, plan.saved());
  expect(again.counts).toEqual(plan.counts);
  expect(again.active).toEqual(['b', 'c']);
  expect(again.unpublished).toEqual(['c']);
  expect(again.last).toEqual(plan.last);
  expect(again.dispatch(2_000)).toEqual([]);
});

test('settings travel as a map, and sizes that are none are refused', () => {
  const settings = { ...SETTINGS, canary: '5%', halt: '3' };
  expect(settingsOf(settingsMap(settings))).toEqual(settings);
  for (const wrong of [{ size: 'abc' }, { canary: 'x' }, { halt: '%' }]) {
    const map = settingsMap({ ...SETTINGS, ...wrong });
    expect(() => settingsOf(map)).toThrow(/Invalid batch specification|batch/i);
  }
});
