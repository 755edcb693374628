import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { eventOf } from '../../test/api-scene.ts';
import { Followers } from '../live/followers.ts';
import type { Frame } from '../live/frames.ts';
import type { Sight } from '../live/sight.ts';
import { EVENT_TOPIC } from './event-topic.ts';
import { JobCounts } from './job-counts.ts';
import { jobsTopic } from './job-topics.ts';
import { StreamFrames } from './stream-frames.ts';
import type { TopicSources } from './topic.ts';
import { readTopics } from './topics.ts';

const ALL: Sight = {
  key: 'all',
  reader: { principal: 'alice', acl: undefined, matching: () => new Set() },
  sees: () => true,
  seesJob: () => true,
};
const [ONE, OTHER] = ['20261130120000000001', '20261130120000000002'];

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Followers of these topics; jobs of two minions have begun. */
function following(topics: string) {
  const jobs = new JobCounts();
  const sources: TopicSources = new Map([
    ['events', EVENT_TOPIC],
    ['jobs', jobsTopic(jobs)],
  ]);
  const followers = new Followers();
  const writes: string[] = [];
  const sink = {
    unsentBytes: 0,
    write: ({ text }: Frame) => void writes.push(text),
    end: () => undefined,
  };
  const followed = followers.add(sink, ALL, readTopics(topics, sources).form);
  const take = (tag: string, data: Parameters<typeof eventOf>[1], kind: 'job' | 'ret') => {
    const event = { ...eventOf(tag, data, kind), position: `after ${tag}` };
    jobs.note(event);
    followers.take(event);
  };
  for (const jid of [ONE, OTHER]) take(`salt/job/${jid}/new`, { minions: ['a', 'b'] }, 'job');
  vi.advanceTimersByTime(1_000);
  writes.length = 0;
  const returns = (jid: string, id: string): void => {
    take(`salt/job/${jid}/ret/${id}`, { jid, id, retcode: 0 }, 'ret');
    vi.advanceTimersByTime(110);
  };
  return { followers, followed, returns, writes };
}

test('counts that wait for their time come before a follower gets other rights', () => {
  const { followed, returns, writes } = following('jobs');
  returns(ONE, 'a');
  returns(ONE, 'b');
  expect(writes).toHaveLength(1);
  followed.look({ ...ALL, key: 'other' });
  expect(writes).toHaveLength(2);
  expect(writes[1]).toContain('"waiting":0},"closed":true');
});

test('counts that wait for their time come before the end of a stream', () => {
  const { followers, returns, writes } = following('jobs');
  returns(ONE, 'a');
  returns(ONE, 'b');
  followers.close();
  expect(writes[1]).toContain('"closed":true');
});

test('a frame has no position while counts wait that are before it', () => {
  const { returns, writes } = following('jobs');
  returns(ONE, 'a');
  returns(ONE, 'b');
  returns(OTHER, 'a');
  expect(writes).toHaveLength(2);
  expect(writes[0]).toContain(`id: after salt/job/${ONE}/ret/a\n`);
  expect(writes[1]).toContain(OTHER);
  expect(writes[1]).not.toContain('id:');
  vi.advanceTimersByTime(1_000);
  expect(writes[2]).toContain(`id: after salt/job/${OTHER}/ret/a\n`);
  expect(writes[2]).toContain('"closed":true');
});

test('a stream with many jobs has a position each second', () => {
  const { returns, writes } = following('jobs');
  for (let at = 0; at < 100; at += 1) {
    returns(ONE, 'a');
    returns(OTHER, 'b');
  }
  const named = writes.filter((text) => text.includes('id:')).length;
  expect(named).toBeGreaterThan(15);
  expect(named).toBeLessThan(writes.length);
});

test('a frame with events has its position, and the counts that are before it', () => {
  const { returns, writes } = following('events,jobs');
  returns(ONE, 'a');
  returns(ONE, 'b');
  expect(writes[1]).toContain(`id: after salt/job/${ONE}/ret/b\n`);
  expect(writes[1]).toContain('"closed":true');
  // Events come last: a stream that is cut before has none of them twice.
  expect(writes[1]?.indexOf('event: job')).toBeLessThan(writes[1]?.indexOf('event: events') ?? 0);
  expect(new StreamFrames([]).flush('x')).toEqual({ text: '', events: 0 });
});
