import { expect, test } from 'vitest';
import { JobMemory } from './job-memory.ts';

const JID = '20261120100000000001';
const ret = (id: string, receivedAt = 5): { jid: string; id: string; receivedAt: number } => ({
  jid: JID,
  id,
  receivedAt,
});

const LATE = { may: 'be late' };
const outside = (n: number): object => ({ may: 'be unexpected', outside: n });

test('a return is in no doubt only if a publication names its minion and its deadline is later', () => {
  const memory = new JobMemory();
  expect(memory.doubt(ret('m1'))).toEqual(outside(0));
  memory.add(JID);
  expect(memory.doubt(ret('m1'))).toEqual(outside(0));
  memory.addPublished(JID, ['m1'], undefined);
  expect(memory.doubt(ret('m1'))).toEqual(LATE);
  memory.addPublished(JID, ['m2'], 5);
  expect([ret('m1'), ret('m2'), ret('m2', 6), ret('m3')].map((one) => memory.doubt(one))).toEqual([
    undefined,
    undefined,
    LATE,
    outside(2),
  ]);
  memory.add(JID);
  expect(memory.doubt(ret('m2'))).toBeUndefined();
  memory.clear();
  expect(memory.doubt(ret('m2'))).toEqual(outside(0));
});

test('memory is bounded: old jobs go, and a job that is too large is known without its targets', () => {
  const memory = new JobMemory(Date.now, 100);
  const many = Array.from({ length: 60 }, (_, n) => `m${n}`);
  memory.addPublished('one', many, 5);
  memory.addPublished('two', many, 5);
  expect([memory.has('one'), memory.has('two')]).toEqual([false, true]);
  memory.addPublished(JID, [...many, ...many.map((id) => `${id}b`)], 5);
  expect(memory.has(JID)).toBe(true);
  expect(memory.doubt(ret('m1'))).toEqual(outside(0));
});
