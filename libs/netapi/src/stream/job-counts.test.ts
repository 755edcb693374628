import { expect, test } from 'vitest';
import { eventOf } from '../../test/api-scene.ts';
import type { LiveEvent } from '../live/live-events.ts';
import { JobCounts } from './job-counts.ts';

const JID = '20261129101112131415';

const begun = (jid: string, minions: readonly string[]): LiveEvent => ({
  ...eventOf(`salt/job/${jid}/new`, { minions: [...minions] }),
  kind: 'job',
});
const returned = (id: string, data = {}, kind: LiveEvent['kind'] = 'ret'): LiveEvent => ({
  ...eventOf(`salt/job/${JID}/ret/${id}`, { id, retcode: 0, success: true, ...data }),
  kind,
});

test('each minion of a job counts once, by its first return', () => {
  const counts = new JobCounts();
  counts.note(begun(JID, ['a', 'b', 'c']));
  expect(counts.of(JID)).toEqual({ targeted: 3, returned: 0, failed: 0, waiting: 3 });
  const events = [
    returned('a'),
    returned('a', { retcode: 1 }),
    returned('b', { retcode: 2 }),
    returned('stranger'),
    // An event with the tag of a return that no minion sent as one.
    returned('c', {}, 'local'),
    begun(JID, ['d']),
  ];
  for (const event of events) counts.note(event);
  expect(counts.of(JID)).toEqual({ targeted: 3, returned: 1, failed: 1, waiting: 1 });
});

test('a job that began before is not counted', () => {
  const counts = new JobCounts();
  counts.note(returned('a'));
  expect(counts.of(JID)).toBeUndefined();
});

test('the oldest jobs are forgotten beyond so many minions', () => {
  const counts = new JobCounts();
  const minions = Array.from({ length: 200_000 }, (_, n) => `m${n}`);
  const other = JID.replace(/5$/, '6');
  counts.note(begun(JID, minions));
  counts.note(begun(other, minions));
  expect(counts.of(JID)).toBeUndefined();
  expect(counts.of(other)?.waiting).toBe(200_000);
});
