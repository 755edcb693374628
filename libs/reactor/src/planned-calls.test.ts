import { expect, test } from 'vitest';
import { MemoryPlans } from '../test/memory-plans.ts';
import { ElsewhereError, PlannedCalls } from './planned-calls.ts';

const ID = 'event/EVENTS/7.0';

function jids(): () => Promise<string> {
  let n = 0;
  return async () => `jid${(n += 1)}`;
}

test('a worker that takes over keeps the job ids, and what was done stays done', async () => {
  const plans = new MemoryPlans();
  const newJid = jids();
  const first = await PlannedCalls.of(plans, ID);
  await first.begin(3, newJid);
  expect(first.mayBeRepeated).toBe(false);
  await first.did(1);
  const second = await PlannedCalls.of(plans, ID);
  await second.begin(3, newJid);
  expect(second.mayBeRepeated).toBe(true);
  expect([0, 1, 2].map((at) => second.jidOf(at))).toEqual(['jid1', 'jid2', 'jid3']);
  expect([0, 1, 2].map((at) => second.isDone(at))).toEqual([false, true, false]);
});

test('a worker that was taken for dead can keep nothing more', async () => {
  const plans = new MemoryPlans();
  const newJid = jids();
  const first = await PlannedCalls.of(plans, ID);
  await first.begin(2, newJid);
  const second = await PlannedCalls.of(plans, ID);
  await second.begin(2, newJid);
  await expect(first.did(0)).rejects.toThrow(ElsewhereError);
  await expect(first.end()).rejects.toThrow(ElsewhereError);
  await second.did(0);
  expect(plans.plans.get(ID)?.plan.calls[0]?.done).toBe(true);
});

test('of two that begin at once one gets it', async () => {
  const plans = new MemoryPlans();
  const [one, other] = await Promise.all([PlannedCalls.of(plans, ID), PlannedCalls.of(plans, ID)]);
  const begun = await Promise.allSettled([one.begin(1, jids()), other.begin(1, jids())]);
  expect(begun.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
});

test('what is over is over for all, and the last call is kept with the end', async () => {
  const plans = new MemoryPlans();
  const plan = await PlannedCalls.of(plans, ID);
  await plan.begin(1, jids());
  await plan.did(0);
  expect(plans.saves).toBe(1);
  await plan.end();
  expect((await PlannedCalls.of(plans, ID)).ended).toBe(true);
  expect(plans.plans.get(ID)?.plan.calls).toEqual([{ jid: 'jid1', done: true }]);
});

test('calls that end at the same time are all kept', async () => {
  const plans = new MemoryPlans();
  const plan = await PlannedCalls.of(plans, ID);
  await plan.begin(5, jids());
  await Promise.all([0, 1, 2, 3].map((at) => plan.did(at)));
  const calls = plans.plans.get(ID)?.plan.calls ?? [];
  expect(calls.map(({ done }) => done)).toEqual([true, true, true, true, false]);
});
