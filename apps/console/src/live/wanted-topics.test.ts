import { expect, test } from 'vitest';
import { eventsTopic, joinTopics } from './wanted-topics.ts';

const many = (count: number): string[] => Array.from({ length: count }, (_, n) => `job:${n}`);

test('topics of all tabs come once each, in one order', () => {
  expect(joinTopics([['jobs', 'overview'], ['jobs', 'job:1'], []])).toEqual({
    topics: ['job:1', 'jobs', 'overview'],
    left: [],
  });
});

test('one glob of events stays itself, two become all events', () => {
  expect(joinTopics([['events:salt/*'], ['jobs']]).topics).toEqual(['events:salt/*', 'jobs']);
  expect(joinTopics([['events:salt/*'], ['events:site/*']]).topics).toEqual(['events']);
  expect(joinTopics([['events:salt/*'], ['events']])).toEqual({ topics: ['events'], left: [] });
});

test('eight windows of minions are in a stream, those of the first tabs', () => {
  const windows = Array.from({ length: 9 }, (_, n) => `minions::${n}..${n}`);
  expect(joinTopics([[windows[0] ?? '', 'jobs'], windows.slice(1), ['overview']])).toEqual({
    topics: ['jobs', ...windows.slice(0, 8), 'overview'],
    left: ['minions::8..8'],
  });
});

test('what is beyond 16 topics is left, from the tabs behind', () => {
  const { topics, left } = joinTopics([many(10), ['events', 'overview', ...many(20)]]);
  expect(topics).toHaveLength(16);
  expect(topics).toEqual(expect.arrayContaining([...many(10), 'events', 'overview']));
  expect(left).toEqual(many(20).slice(14));
});

test('the list is never longer than an address may have it', () => {
  const long = Array.from({ length: 4 }, (_, n) => `job:${n}${'x'.repeat(800)}`);
  const { topics, left } = joinTopics([long]);
  expect(topics.join(',').length).toBeLessThanOrEqual(2_048);
  expect([...topics, ...left].sort()).toEqual(long);
  expect(left).toHaveLength(2);
});

test.each<[string | undefined, string]>([
  [undefined, 'events'],
  ['salt/job/*', 'events:salt/job/*'],
  ['salt/job/?', 'events'],
  ['salt/[jk]ob', 'events'],
  ['a,b', 'events'],
  ['x'.repeat(201), 'events'],
])('tags %s are asked for as %s', (glob, topic) => {
  expect(eventsTopic(glob)).toBe(topic);
});
