import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { endFakeBrowser, fakeBrowser, FakeSource, type FakeTab } from '../../test/fake-browser.ts';
import type { LiveStream } from './live-stream.ts';
import type { LiveMessage } from './message.ts';

let front: FakeTab;
beforeEach(() => {
  front = fakeBrowser().tab;
});
afterEach(endFakeBrowser);

/** Opens a tab of the browser. All of them share one window here: they are seen together. */
async function tab(): Promise<{ stream: LiveStream; close: () => void }> {
  const { LiveStream: Stream } = await import('./live-stream.ts');
  const stream = new Stream();
  return { stream, close: stream.open() };
}

/** Lets notes and locks come to rest. */
const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(100);

function taken(stream: LiveStream, topic: string): LiveMessage['event'][] {
  const events: LiveMessage['event'][] = [];
  stream.subscribe(topic, ({ event }) => events.push(event));
  return events;
}

const only = (): FakeSource => {
  expect(FakeSource.open).toHaveLength(1);
  return FakeSource.open[0]!;
};
const job = { jid: '1', counts: null, closed: null };

describe('with locks', () => {
  test('two tabs share one stream that has the topics of both', async () => {
    const [one, other] = [await tab(), await tab()];
    const [jobs, events] = [taken(one.stream, 'jobs'), taken(other.stream, 'events')];
    await settle();
    expect(only().topics).toEqual(['events', 'jobs']);
    only().hello('1-1_0a1b2c3d');
    only().send('job', job, '2-1_0a1b2c3d');
    only().send('events', [], '3-1_0a1b2c3d');
    expect(jobs).toEqual(['hello', 'reset', 'job']);
    expect(events).toEqual(['hello', 'reset', 'events']);
    expect([one.stream.state.is, other.stream.state.is]).toEqual(['live', 'live']);
  });

  test('a tab that comes later learns how the stream does', async () => {
    const one = await tab();
    taken(one.stream, 'jobs');
    await settle();
    only().hello('1-1_0a1b2c3d');
    const other = await tab();
    taken(other.stream, 'jobs');
    await settle();
    expect(other.stream.state.is).toBe('live');
    expect(other.stream.has('jobs')).toBe(true);
  });

  test('when the reading tab closes another one continues after the last message', async () => {
    const [one, other, third] = [await tab(), await tab(), await tab()];
    taken(one.stream, 'jobs');
    const events = taken(other.stream, 'events');
    const overview = taken(third.stream, 'overview');
    await settle();
    only().hello('1-1_0a1b2c3d');
    only().send('job', job, '5-2_0a1b2c3d');
    one.close();
    await settle();
    expect(only().topics).toEqual(['events', 'overview']);
    expect(only().from).toBe('5-2_0a1b2c3d');
    // No stream before that one had a part of the topics alone: it would have gone on without rest.
    expect(FakeSource.all.slice(-2).map(({ topics }) => topics)).toEqual([
      ['events', 'jobs', 'overview'],
      ['events', 'overview'],
    ]);
    only().hello('5-2_0a1b2c3d');
    only().send('events', [], '6-2_0a1b2c3d');
    expect(events).toEqual(['hello', 'reset', 'hello', 'events']);
    expect(overview).toEqual(['hello', 'reset', 'hello']);
  });

  test('a tab that came after the last message knows where to continue too', async () => {
    const one = await tab();
    taken(one.stream, 'jobs');
    await settle();
    only().hello('4-4_0a1b2c3d');
    const other = await tab();
    taken(other.stream, 'jobs');
    await settle();
    one.close();
    await settle();
    expect(only().from).toBe('4-4_0a1b2c3d');
  });

  test('topics of a closed tab end', async () => {
    const [one, other] = [await tab(), await tab()];
    taken(one.stream, 'jobs');
    taken(other.stream, 'events');
    await settle();
    other.close();
    await settle();
    expect(only().topics).toEqual(['jobs']);
  });

  test('topics that a page leaves end, and those of the next one follow in the same stream', async () => {
    const { stream } = await tab();
    const leave = stream.subscribe('jobs', () => undefined);
    await settle();
    const before = only();
    leave();
    taken(stream, 'overview');
    await settle();
    expect(before.readyState).toBe(FakeSource.CLOSED);
    expect(FakeSource.all.map(({ topics }) => topics)).toEqual([['jobs'], ['overview']]);
  });

  test('a topic that a stream has no room for is left to its page, until there is room', async () => {
    const [one, other] = [await tab(), await tab()];
    const leaves = Array.from({ length: 16 }, (_, n) =>
      other.stream.subscribe(`job:${n}`, () => undefined),
    );
    await settle();
    taken(one.stream, 'jobs');
    taken(one.stream, 'overview');
    await settle();
    only().hello('1-1_0a1b2c3d');
    expect(only().topics).toHaveLength(16);
    expect(one.stream.has('jobs')).toBe(true);
    const left = Array.from({ length: 16 }, (_, n) => `job:${n}`).filter(
      (topic) => !other.stream.has(topic),
    );
    expect(left).toHaveLength(2);
    const changed = vi.fn();
    other.stream.watch(changed);
    for (const leave of leaves.slice(0, 3)) leave();
    await settle();
    only().hello('1-1_0a1b2c3d');
    expect(left.slice(1).every((topic) => other.stream.has(topic))).toBe(true);
    expect(changed).toHaveBeenCalled();
  });

  test('a topic that the server refuses is refused to its tab alone, and asked for once', async () => {
    const [one, other] = [await tab(), await tab()];
    const odd = taken(other.stream, 'job:odd');
    const jobs = taken(one.stream, 'jobs');
    await settle();
    only().hello('1-1_0a1b2c3d');
    only().send('refused', { topic: 'job:odd', why: 'is no topic' });
    expect(jobs).toEqual(['hello', 'reset']);
    expect(odd).toEqual(['hello', 'reset', 'refused']);
    expect([one.stream, other.stream].map(({ refusals }) => refusals)).toEqual([
      '',
      'job:odd is no topic',
    ]);
    expect([one.stream.has('jobs'), other.stream.has('job:odd')]).toEqual([true, false]);
    // A tab that comes later for the same finds it refused; the stream goes on with the others.
    const third = await tab();
    taken(third.stream, 'job:odd');
    await settle();
    expect(only().topics).toEqual(['jobs']);
    only().hello('1-1_0a1b2c3d');
    expect(third.stream.refusals).toBe('job:odd is no topic');
    expect(one.stream.has('jobs')).toBe(true);
  });

  test('a refused topic that all tabs have left is asked for again when one wants it', async () => {
    const { stream } = await tab();
    taken(stream, 'jobs');
    const leave = stream.subscribe('job:odd', () => undefined);
    await settle();
    only().hello('1-1_0a1b2c3d');
    only().send('refused', { topic: 'job:odd', why: 'is no topic' });
    leave();
    await settle();
    expect(only().topics).toEqual(['jobs']);
    taken(stream, 'job:odd');
    await settle();
    expect(only().topics).toEqual(['job:odd', 'jobs']);
    expect(stream.refusals).toBe('');
  });

  test('nothing comes while the stream is away', async () => {
    const { stream } = await tab();
    taken(stream, 'jobs');
    await settle();
    only().hello('1-1_0a1b2c3d');
    only().cut();
    expect(stream.state.is).toBe('away');
    expect(stream.has('jobs')).toBe(false);
  });

  test('a hidden tab goes on reading for the others', async () => {
    const { stream } = await tab();
    taken(stream, 'jobs');
    await settle();
    front.hide(true);
    await settle();
    expect(only().topics).toEqual(['jobs']);
  });

  test('a stream that is closed at once leaves nothing open', async () => {
    const { stream, close } = await tab();
    taken(stream, 'jobs');
    close();
    await settle();
    expect(FakeSource.open).toEqual([]);
    const again = stream.open();
    taken(stream, 'overview');
    await settle();
    expect(only().topics).toEqual(['jobs', 'overview']);
    again();
    await settle();
    expect(FakeSource.open).toEqual([]);
  });
});

describe('without locks, over plain HTTP', () => {
  beforeEach(() => {
    vi.stubGlobal('navigator', {});
  });

  test('each tab has a stream of its own', async () => {
    const [one, other] = [await tab(), await tab()];
    const jobs = taken(one.stream, 'jobs');
    const events = taken(other.stream, 'events');
    await settle();
    expect(FakeSource.open.map(({ topics }) => topics)).toEqual([['jobs'], ['events']]);
    for (const source of FakeSource.open) source.hello('1-1_0a1b2c3d');
    FakeSource.open[0]!.send('job', job, '2-1_0a1b2c3d');
    expect(jobs).toEqual(['hello', 'reset', 'job']);
    expect(events).toEqual(['hello', 'reset']);
  });

  test('a hidden tab gives its connection back, and continues when it is seen', async () => {
    const { stream } = await tab();
    taken(stream, 'jobs');
    await settle();
    only().hello('1-1_0a1b2c3d');
    front.hide(true);
    await settle();
    expect(FakeSource.open).toEqual([]);
    front.hide(false);
    await settle();
    expect([only().topics, only().from]).toEqual([['jobs'], '1-1_0a1b2c3d']);
  });

  test('a tab that opens behind another one waits until it is seen', async () => {
    front.hide(true);
    const { stream } = await tab();
    taken(stream, 'jobs');
    await settle();
    expect(FakeSource.open).toEqual([]);
    front.hide(false);
    await settle();
    expect(only().topics).toEqual(['jobs']);
  });
});
