import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { endFakeBrowser, fakeBrowser, FakeSource } from '../../test/fake-browser.ts';

beforeEach(fakeBrowser);
afterEach(endFakeBrowser);

async function reader(position?: string) {
  const { StreamReader } = await import('./stream-reader.ts');
  const states: string[] = [];
  const messages: (readonly [string, string | undefined])[] = [];
  const made = new StreamReader(
    {
      message: ({ event }, at) => messages.push([event, at]),
      state: ({ is }) => states.push(is),
    },
    position,
  );
  return { reader: made, states, messages };
}

const open = (): FakeSource => {
  const [only, ...more] = FakeSource.open;
  if (only === undefined || more.length > 0) throw new Error('there is not one stream');
  return only;
};

test('other topics continue after the last message', async () => {
  const { reader: one, messages } = await reader();
  one.follow(['jobs']);
  expect([open().topics, open().from]).toEqual([['jobs'], null]);
  open().hello('1-1_0a1b2c3d');
  open().send('job', { jid: '1', counts: null, closed: null });
  open().send('job', { jid: '2', counts: null, closed: null }, '2-1_0a1b2c3d');
  one.follow(['job:1', 'jobs']);
  expect([open().topics, open().from]).toEqual([['job:1', 'jobs'], '2-1_0a1b2c3d']);
  expect(messages).toEqual([
    ['hello', '1-1_0a1b2c3d'],
    ['reset', '1-1_0a1b2c3d'],
    ['job', '1-1_0a1b2c3d'],
    ['job', '2-1_0a1b2c3d'],
  ]);
});

test('only a stream from now on has all asked for again', async () => {
  const { reader: one, messages } = await reader('9-9_0a1b2c3d');
  one.follow(['jobs']);
  open().hello('9-9_0a1b2c3d');
  open().hello('9-9_0a1b2c3d');
  expect(messages.map(([event]) => event)).toEqual(['hello', 'hello']);
});

test('the same topics leave the stream as it is', async () => {
  const { reader: one } = await reader();
  one.follow(['jobs']);
  one.follow(['jobs']);
  expect(FakeSource.all).toHaveLength(1);
});

test('a reader that takes over continues where the one before stopped', async () => {
  const { reader: one } = await reader('9-9_0a1b2c3d');
  one.follow(['jobs']);
  expect(open().from).toBe('9-9_0a1b2c3d');
});

test('without topics there is no stream, and those that come later begin at their time', async () => {
  const { reader: one, states } = await reader();
  one.follow(['jobs']);
  open().hello('1-1_0a1b2c3d');
  one.follow([]);
  expect(FakeSource.open).toEqual([]);
  one.follow(['overview']);
  expect(open().from).toBeNull();
  expect(states).toEqual(['connecting', 'live', 'idle', 'connecting']);
});

test('after a refusal it comes again by itself, later each time', async () => {
  const { reader: one, states } = await reader();
  one.follow(['jobs']);
  open().hello('1-1_0a1b2c3d');
  const waits: number[] = [];
  for (let n = 0; n < 6; n += 1) {
    open().refuse();
    expect(FakeSource.open).toEqual([]);
    const before = Date.now();
    vi.advanceTimersToNextTimer();
    waits.push(Date.now() - before);
    expect(open().from).toBe('1-1_0a1b2c3d');
  }
  expect(waits).toEqual([3_000, 6_000, 12_000, 24_000, 30_000, 30_000]);
  open().hello('1-1_0a1b2c3d');
  open().refuse();
  vi.advanceTimersByTime(3_000);
  expect(FakeSource.open).toHaveLength(1);
  expect(new Set(states)).toEqual(new Set(['connecting', 'live', 'away']));
});

test('a cut is left to the browser', async () => {
  const { reader: one, states } = await reader();
  one.follow(['jobs']);
  open().cut();
  vi.advanceTimersByTime(60_000);
  expect(FakeSource.all).toHaveLength(1);
  open().hello('1-1_0a1b2c3d');
  expect(states).toEqual(['connecting', 'away', 'live']);
});

test('an error of a stream that was left changes nothing', async () => {
  const { reader: one, states } = await reader();
  one.follow(['jobs']);
  const before = open();
  one.follow(['overview']);
  before.refuse();
  vi.advanceTimersByTime(60_000);
  expect(FakeSource.open).toHaveLength(1);
  expect(states).toEqual(['connecting']);
});

test('at rest it has no connection, and continues after the last message', async () => {
  const { reader: one } = await reader();
  one.follow(['jobs']);
  open().hello('1-1_0a1b2c3d');
  one.rest(true);
  one.follow(['jobs', 'overview']);
  expect(FakeSource.open).toEqual([]);
  one.rest(false);
  expect([open().topics, open().from]).toEqual([['jobs', 'overview'], '1-1_0a1b2c3d']);
});

test('a closed reader does not come again', async () => {
  const { reader: one } = await reader();
  one.follow(['jobs']);
  open().refuse();
  one.close();
  vi.advanceTimersByTime(60_000);
  expect(FakeSource.open).toEqual([]);
});
