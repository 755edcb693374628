import { expect, test } from 'vitest';
import { isFor, kindOf, LIVE_EVENTS, type LiveMessage } from './message.ts';

const POSITION = '7-1_0a1b2c3d';
const job = (jid: string): LiveMessage => ({
  event: 'job',
  data: { jid, counts: null, closed: null },
});

test('a job is for its own topic and for that of all jobs', () => {
  expect(isFor('jobs', job('1'))).toBe(true);
  expect(isFor('job:1', job('1'))).toBe(true);
  expect(isFor('job:2', job('1'))).toBe(false);
  expect(isFor('events', job('1'))).toBe(false);
});

test('returns and progress are for the topic of their job alone', () => {
  const returned = { id: 'web', state: 'returned', retcode: 0, at: '' } as const;
  const returns: LiveMessage = {
    event: 'returns',
    data: [
      { jid: '1', ...returned },
      { jid: '2', ...returned },
    ],
  };
  expect(['job:1', 'job:2', 'job:3', 'jobs'].map((topic) => isFor(topic, returns))).toEqual([
    true,
    true,
    false,
    false,
  ]);
  const progress: LiveMessage = {
    event: 'progress',
    data: { jid: '1', id: 'web', state: null, result: null, number: 1 },
  };
  expect(isFor('job:1', progress)).toBe(true);
  expect(isFor('jobs', progress)).toBe(false);
});

test('rows are for the very window that asked for them', () => {
  const rows: LiveMessage = {
    event: 'rows',
    data: { topic: 'minions::0..49', rows: [], counts: { total: 0 } },
  };
  expect(isFor('minions::0..49', rows)).toBe(true);
  expect(isFor('minions::50..99', rows)).toBe(false);
});

test('a refusal is for the very topic that the stream does not have', () => {
  const refused: LiveMessage = { event: 'refused', data: { topic: 'job:x', why: 'is no topic' } };
  expect(isFor('job:x', refused)).toBe(true);
  expect(isFor('jobs', refused)).toBe(false);
});

test('events are for each glob: the stream may have those of other tabs too', () => {
  const events: LiveMessage = { event: 'events', data: [] };
  expect(isFor('events', events)).toBe(true);
  expect(isFor('events:salt/job/*', events)).toBe(true);
  expect(isFor('jobs', events)).toBe(false);
});

test('the overview is for its own topic', () => {
  const overview: LiveMessage = {
    event: 'overview',
    data: { jobs: { began: 0, returns: 0, failed: 0 } },
  };
  expect(isFor('overview', overview)).toBe(true);
  expect(isFor('jobs', overview)).toBe(false);
});

test('what the stream has to report is for all', () => {
  const reports: readonly LiveMessage[] = [
    { event: 'hello', data: { position: POSITION, topics: [], heartbeat: 15 } },
    { event: 'lag', data: { dropped: 3, from: POSITION, to: POSITION } },
    { event: 'reset', data: { position: POSITION } },
    { event: 'bye', data: { retryAfter: 1 } },
  ];
  for (const report of reports) expect(isFor('job:1', report)).toBe(true);
});

test('each kind of messages is listened to once', () => {
  expect(new Set(LIVE_EVENTS).size).toBe(LIVE_EVENTS.length);
});

test('the kind of a topic ends at its first colon', () => {
  expect(kindOf('minions:q=a:b:0..9')).toBe('minions');
  expect(kindOf('jobs')).toBe('jobs');
});
