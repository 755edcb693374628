import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { eventOf } from '../../test/api-scene.ts';
import { NetapiError } from '../errors.ts';
import { Followers, type FollowerSink } from './followers.ts';
import { eventByEvent, type Form, type Frame, LAG_TAG, type WriteFrame } from './frames.ts';
import type { Sight } from './sight.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A peer that reads what it gets, or nothing once it is stalled. */
class FakeSink implements FollowerSink {
  readonly writes: string[] = [];
  readonly ends: (string | undefined)[] = [];
  unsentBytes = 0;

  write({ text }: Frame): void {
    this.writes.push(text);
  }

  end(last: string | undefined): void {
    this.ends.push(last);
  }
}

const ALL: Sight = {
  key: 'all',
  reader: { principal: 'alice', acl: undefined, matching: () => new Set() },
  sees: () => true,
  seesJob: () => true,
};
const formOf = (name: string, write: WriteFrame): Form => eventByEvent(name, () => write);
const STALLED_BYTES = 2 * 1024 * 1024;
const FLUSH_MS = 100;

/** Counts the frames that are made. */
function writer() {
  const made: string[] = [];
  const write = ({ tag, data }: { tag: string; data: ReadonlyMap<unknown, unknown> }): string => {
    const frame = tag === LAG_TAG ? `[${tag} ${String(data.get('dropped'))}]` : `[${tag}]`;
    made.push(frame);
    return frame;
  };
  return { made, write };
}

test('a frame is made once for all followers with the same sight', () => {
  const followers = new Followers();
  const { made, write } = writer();
  const sinks = Array.from({ length: 50 }, () => new FakeSink());
  for (const sink of sinks) followers.add(sink, { ...ALL }, formOf('sse', write));
  followers.take(eventOf('a'));
  followers.take(eventOf('b'));
  vi.advanceTimersByTime(FLUSH_MS);
  expect(made).toEqual(['[a]', '[b]']);
  expect(sinks.map(({ writes }) => writes)).toEqual(sinks.map(() => ['[a][b]']));
});

test('a follower that resumes begins where the frame that waits begins, and gets nothing twice', () => {
  const followers = new Followers();
  const { write } = writer();
  const form = formOf('sse', write);
  followers.add(new FakeSink(), ALL, form);
  followers.take(eventOf('a'));
  vi.advanceTimersByTime(FLUSH_MS);
  expect(followers.boundary(ALL, form)).toBe(1);
  followers.take(eventOf('b'));
  followers.take(eventOf('c'));
  // Both wait: a follower that is added now gets them with this frame.
  expect(followers.boundary(ALL, form)).toBe(1);
  const late = new FakeSink();
  followers.add(late, ALL, form);
  vi.advanceTimersByTime(FLUSH_MS);
  expect(late.writes).toEqual(['[b][c]']);
  expect(followers.boundary(ALL, form)).toBe(3);
});

test('followers with other sights or forms get their own frames', () => {
  const followers = new Followers();
  const one = writer();
  const other = writer();
  const narrow = new FakeSink();
  const wide = new FakeSink();
  followers.add(
    narrow,
    { ...ALL, key: 'a', sees: ({ tag }) => tag === 'a' },
    formOf('sse', one.write),
  );
  followers.add(wide, ALL, formOf('ws', other.write));
  followers.take(eventOf('a'));
  followers.take(eventOf('b'));
  vi.advanceTimersByTime(FLUSH_MS);
  expect([narrow.writes, wide.writes]).toEqual([['[a]'], ['[a][b]']]);
});

test('a stalled follower gets no more, is closed after its time, and harms no other', () => {
  const followers = new Followers();
  const { write } = writer();
  const stalled = new FakeSink();
  const other = new FakeSink();
  followers.add(stalled, ALL, formOf('sse', write));
  followers.add(other, ALL, formOf('sse', write));
  stalled.unsentBytes = STALLED_BYTES;
  for (let second = 0; second < 11; second += 1) {
    followers.take(eventOf(String(second)));
    vi.advanceTimersByTime(1_000);
  }
  expect(stalled.writes).toEqual([]);
  expect(stalled.ends).toEqual([`[${LAG_TAG} 11]`]);
  expect(other.writes).toHaveLength(11);
  expect(followers.stats).toEqual({ followers: 1, dropped: 11, closed: 1 });
});

test('a follower that reads again gets the count of what it missed, then all', () => {
  const followers = new Followers();
  const { write } = writer();
  const sink = new FakeSink();
  followers.add(sink, ALL, formOf('sse', write));
  sink.unsentBytes = STALLED_BYTES;
  for (const tag of ['a', 'b', 'c']) followers.take(eventOf(tag));
  vi.advanceTimersByTime(FLUSH_MS);
  sink.unsentBytes = 0;
  followers.take(eventOf('d'));
  vi.advanceTimersByTime(FLUSH_MS);
  followers.take(eventOf('e'));
  vi.advanceTimersByTime(FLUSH_MS);
  expect(sink.writes).toEqual([`[${LAG_TAG} 3]`, '[d]', '[e]']);
  expect(followers.stats).toEqual({ followers: 1, dropped: 3, closed: 0 });
});

test('more than 2,000 followers get one write a second', () => {
  const followers = new Followers();
  const { write } = writer();
  const sinks = Array.from({ length: 2_001 }, () => new FakeSink());
  for (const sink of sinks) followers.add(sink, ALL, formOf('sse', write));
  for (let at = 0; at < 30; at += 1) {
    followers.take(eventOf('x'));
    vi.advanceTimersByTime(100);
  }
  expect(sinks.map(({ writes }) => writes.length)).toEqual(sinks.map(() => 3));
});

test('for followers that are gone no frames are made', () => {
  const followers = new Followers();
  const { made, write } = writer();
  const stalled = new FakeSink();
  followers.add(new FakeSink(), ALL, formOf('sse', write)).remove();
  followers.add(stalled, ALL, formOf('sse', write));
  stalled.unsentBytes = STALLED_BYTES;
  for (let second = 0; second < 12; second += 1) {
    followers.take(eventOf('a'));
    vi.advanceTimersByTime(1_000);
  }
  expect(followers.stats.followers).toBe(0);
  const before = made.length;
  followers.take(eventOf('a'));
  vi.advanceTimersByTime(1_000);
  expect(made).toHaveLength(before);
  expect(vi.getTimerCount()).toBe(0);
});

test('a follower with other rights gets what it may have seen before, then its new sight', () => {
  const followers = new Followers();
  const { write } = writer();
  const sink = new FakeSink();
  const followed = followers.add(sink, ALL, formOf('sse', write));
  followers.take(eventOf('before'));
  followed.look({ ...ALL, key: 'none', sees: () => false });
  followers.take(eventOf('after'));
  vi.advanceTimersByTime(FLUSH_MS);
  expect(sink.writes).toEqual(['[before]']);
});

test.each([false, true])(
  'events that wait for the job cache are not lost with other rights (others have them: %s)',
  async (isKnown) => {
    const followers = new Followers();
    const { write } = writer();
    const form = formOf('sse', write);
    const sink = new FakeSink();
    const never = new Promise<boolean>(() => undefined);
    const unsure: Sight = {
      ...ALL,
      key: 'unsure',
      isUnsure: ({ tag }) => tag === 'unsure',
      learn: () => never,
    };
    const narrow: Sight = { ...ALL, key: 'narrow', sees: ({ tag }) => tag !== 'lost' };
    if (isKnown) followers.add(new FakeSink(), narrow, form);
    const followed = followers.add(sink, unsure, form);
    for (const tag of ['before', 'unsure', 'lost', 'kept']) followers.take(eventOf(tag));
    followed.look(narrow);
    followers.take(eventOf('after'));
    await vi.advanceTimersByTimeAsync(FLUSH_MS);
    expect(sink.writes.join('')).toBe('[before][unsure][kept][after]');
  },
);

test('a follower that was closed for not reading does not come back with other rights', () => {
  const followers = new Followers();
  const { write } = writer();
  const sink = new FakeSink();
  const followed = followers.add(sink, ALL, formOf('sse', write));
  sink.unsentBytes = STALLED_BYTES;
  for (let second = 0; second < 12; second += 1) {
    followers.take(eventOf('a'));
    vi.advanceTimersByTime(1_000);
  }
  expect(followers.stats).toMatchObject({ followers: 0, closed: 1 });
  followed.look({ ...ALL, key: 'other' });
  sink.unsentBytes = 0;
  followers.take(eventOf('b'));
  vi.advanceTimersByTime(1_000);
  expect(sink.writes).toEqual([]);
});

test('close() ends all streams once, and counts stay right after it', () => {
  const followers = new Followers();
  const { write } = writer();
  const sinks = [new FakeSink(), new FakeSink()];
  const added = sinks.map((sink) => followers.add(sink, ALL, formOf('sse', write)));
  followers.take(eventOf('a'));
  followers.close();
  for (const one of added) one.remove();
  followers.close();
  expect(sinks.map(({ ends }) => ends)).toEqual([[undefined], [undefined]]);
  expect(followers.stats.followers).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
});

test('one user has half of the places, and others the rest', () => {
  const followers = new Followers();
  const leaves = Array.from({ length: 5_500 }, () => followers.enter('alice'));
  expect(() => followers.enter('alice')).toThrow(NetapiError);
  for (let at = 0; at < 5_500; at += 1) followers.enter(at % 2 === 0 ? 'bob' : 'eve');
  expect(() => followers.enter('zoe')).toThrow('Too many follow the events.');
  expect(followers.places).toEqual({ inHand: 11_000, refused: 2 });
  leaves[0]?.();
  leaves[0]?.();
  followers.enter('zoe');
  expect(() => followers.enter('zoe')).toThrow(NetapiError);
});

test('removing twice counts once', () => {
  const followers = new Followers();
  const { write } = writer();
  const followed = followers.add(new FakeSink(), ALL, formOf('sse', write));
  followers.add(new FakeSink(), ALL, formOf('sse', write));
  followed.remove();
  followed.remove();
  expect(followers.stats.followers).toBe(1);
});
