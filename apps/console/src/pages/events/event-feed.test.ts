import type { EventShown } from '@brine/api';
import { expect, test, vi } from 'vitest';
import { EventFeed, ROWS_MAX } from './event-feed.ts';

/** The nth event. @param second when it happened, if not at its turn */
function event(n: number, second = n): EventShown {
  const at = new Date(second * 1_000).toISOString().replace('Z', '000Z');
  return { position: `${n}-1_0a1b2c3d`, tag: `site/${n}`, at, kind: 'local' };
}

const events = (from: number, to: number): EventShown[] =>
  Array.from({ length: to - from }, (_, n) => event(from + n));

const tagsOf = ({ shown }: EventFeed): string[] => shown.rows.map(({ tag }) => tag);

test('an event of a page and of the stream is there once', () => {
  const feed = new EventFeed();
  feed.take(events(3, 6));
  feed.add(events(1, 5));
  feed.take([event(5), { ...event(6), position: '6-9_0a1b2c3d' }]);
  feed.add([event(6)]);
  expect(tagsOf(feed)).toEqual(['site/1', 'site/2', 'site/3', 'site/4', 'site/5', 'site/6']);
});

test('what is replayed takes its place in time', () => {
  const feed = new EventFeed();
  feed.take([event(1), event(5)]);
  feed.add([event(2), event(3)]);
  expect(tagsOf(feed)).toEqual(['site/1', 'site/2', 'site/3', 'site/5']);
});

test('while the list is paused no row moves, and new ones are counted', () => {
  const feed = new EventFeed();
  feed.take(events(1, 3));
  feed.pause(true);
  const { rows } = feed.shown;
  feed.take(events(3, 6));
  feed.take(events(5, 7));
  expect(feed.shown.rows).toBe(rows);
  expect(feed.shown.waits).toBe(4);
  feed.pause(false);
  expect(feed.shown.waits).toBe(0);
  expect(tagsOf(feed)).toHaveLength(6);
});

test('memory is bounded: the oldest rows give their places', () => {
  const feed = new EventFeed();
  feed.take(events(0, ROWS_MAX));
  feed.take(events(ROWS_MAX, ROWS_MAX + 10));
  expect(feed.shown.rows).toHaveLength(ROWS_MAX);
  expect(feed.shown.forgotten).toBe(10);
  expect(tagsOf(feed)[0]).toBe('site/10');
  // It is no duplicate any more: it may be asked for again.
  feed.add([event(5, ROWS_MAX + 20)]);
  expect(tagsOf(feed).at(-1)).toBe('site/5');
});

test('what waits is bounded too, and the list then has no gap', () => {
  const feed = new EventFeed();
  feed.take(events(0, 10));
  feed.pause(true);
  feed.take(events(10, ROWS_MAX + 20));
  expect(feed.shown.waits).toBe(ROWS_MAX + 10);
  feed.pause(false);
  expect(feed.shown.rows).toHaveLength(ROWS_MAX);
  expect(tagsOf(feed)[0]).toBe('site/20');
  feed.add([event(3)]);
  expect(tagsOf(feed)).not.toContain('site/3');
});

test('a change is announced, what changes nothing is not', () => {
  const feed = new EventFeed();
  const changed = vi.fn();
  const leave = feed.watch(changed);
  feed.take([event(1)]);
  feed.take([event(1)]);
  feed.pause(false);
  expect(changed).toHaveBeenCalledTimes(1);
  leave();
  feed.take([event(2)]);
  expect(changed).toHaveBeenCalledTimes(1);
});
