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

test('one window of minions is in a stream, that of the first tab', () => {
  expect(joinTopics([['minions::0..9', 'jobs'], ['minions::10..19']])).toEqual({
    topics: ['jobs', 'minions::0..9'],
    left: ['minions::10..19'],
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
