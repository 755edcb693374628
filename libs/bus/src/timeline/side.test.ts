import { until } from '@brine/testing/waits';
import { expect, test } from 'vitest';
import { BusError } from '../connection/errors.ts';
import type { Received, StreamReader } from '../streams/stream-reader.ts';
import type { Place } from './position.ts';
import { type ReadMessage, Side, type SideEvent } from './side.ts';

/** In `seq`, how many more there are then, and whether nothing can be missing before it. */
type Message = readonly [seq: number, pending: number, followsOn?: boolean];

/** A reader of these messages. */
function readerOf(messages: readonly Message[]) {
  const queue = messages.map(([seq, pending, given], n) => {
    const followsOn = given ?? messages[n - 1]?.[1] === 0;
    return { seq, pending, followsOn, timeUs: seq, incarnation: 'i' } as unknown as Received;
  });
  const fake = {
    waiting: 0,
    caughtUp: true,
    resets: 0,
    close: () => undefined,
    take: (max: number) => Promise.resolve(queue.splice(0, max)),
  };
  return fake as unknown as StreamReader;
}

function eventOf(tag: string): SideEvent {
  const nothing = { jid: undefined, minion: undefined, link: undefined };
  return { kind: 'local', tag, ...nothing, size: 0, body: () => Promise.resolve(Buffer.alloc(0)) };
}

interface SideTest {
  readonly messages: readonly Message[];
  readonly read: (received: Received) => Promise<ReadMessage> | ReadMessage;
  readonly after?: Place;
}

async function stepsOf({ messages, read, after = { seq: 0 } }: SideTest) {
  const unreadable: unknown[] = [];
  const side = new Side({
    reader: readerOf(messages),
    after,
    read,
    onUnreadable: (error) => unreadable.push(error),
    onNews: () => undefined,
  });
  await until('the side has read all', () => side.isClosed);
  const steps: (readonly [place: Place, tag: string | undefined])[] = [];
  for (let head = side.head; head !== undefined; head = side.head) {
    steps.push([head.place, head.event?.tag]);
    side.take();
  }
  return { side, steps, unreadable };
}

const page = (tags: readonly (string | undefined)[]): ReadMessage => ({
  count: tags.length,
  events: tags.flatMap((tag, index) => (tag === undefined ? [] : [{ index, event: eventOf(tag) }])),
});

test('the last event of a message completes it, and those before name their index', async () => {
  const { steps } = await stepsOf({
    messages: [
      [5, 1],
      [6, 0],
    ],
    read: ({ seq }) => (seq === 5 ? page(['a', 'b', 'c']) : page(['d'])),
  });
  expect(steps).toEqual([
    [{ seq: 5, index: 0 }, 'a'],
    [{ seq: 5, index: 1 }, 'b'],
    [{ seq: 5 }, 'c'],
    [{ seq: 6 }, 'd'],
  ]);
});

test('a message that was read in part gives its rest alone', async () => {
  const { steps } = await stepsOf({
    messages: [[5, 0]],
    read: () => page(['a', 'b', 'c']),
    after: { seq: 5, index: 1 },
  });
  expect(steps).toEqual([[{ seq: 5 }, 'c']]);
});

test('what is not wanted is passed over in one step, however much it is', async () => {
  const messages = Array.from({ length: 500 }, (_, n) => [n + 1, 499 - n] as const);
  const { steps } = await stepsOf({
    messages,
    read: ({ seq }) => page([undefined, seq === 400 ? 'wanted' : undefined, undefined]),
  });
  expect(steps).toEqual([
    [{ seq: 399 }, undefined],
    [{ seq: 400, index: 1 }, 'wanted'],
    [{ seq: 500 }, undefined],
  ]);
});

test('a message that fails for a time is read again, one that always fails is passed', async () => {
  let tries = 0;
  const { steps, unreadable } = await stepsOf({
    messages: [
      [1, 1],
      [2, 0],
    ],
    read: ({ seq }) => {
      if (seq === 1) throw new BusError('BUS_BODY_GONE', 'gone');
      if ((tries += 1) === 1) throw new BusError('BUS_TIMEOUT', 'not now');
      return page(['late']);
    },
  });
  expect(steps).toEqual([
    [{ seq: 1 }, undefined],
    [{ seq: 2 }, 'late'],
  ]);
  expect(unreadable).toMatchObject([{ code: 'BUS_BODY_GONE' }]);
  expect(tries).toBe(2);
});

test('sequences that are missing are a jump only for a reader that was behind', async () => {
  const read = (): ReadMessage => page(['x']);
  const behind = await stepsOf({
    messages: [
      [1, 900],
      [40, 800],
      [41, 799],
      [90, 0],
    ],
    read,
  });
  expect(behind.side.takeJump()).toEqual({ from: 2, to: 90 });
  expect(behind.side.takeJump()).toBeUndefined();
  const even = await stepsOf({
    messages: [
      [1, 0],
      [40, 0],
    ],
    read,
  });
  expect(even.side.jump).toBeUndefined();
});

test('a reader that had all and then stood still for a time may have been overtaken', async () => {
  const { side } = await stepsOf({
    messages: [
      [1, 0],
      [40, 0, false],
      [60, 0],
    ],
    read: () => page(['x']),
  });
  expect(side.takeJump()).toEqual({ from: 2, to: 40 });
});
