import type { RequestOutcome, RequestToSend } from '@brine/bus/rpc';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Workers } from './ports.ts';
import { type LostReason, SealedLane } from './sealed-lane.ts';

const AWAY: RequestOutcome = { kind: 'expired', why: 'body', handed: false };
const DONE: RequestOutcome = { kind: 'reply', body: Buffer.from('ok') };

let outcome: RequestOutcome;
let sent: RequestToSend[];
let lost: LostReason[];
let lane: SealedLane;

beforeEach(() => {
  vi.useFakeTimers();
  outcome = AWAY;
  sent = [];
  lost = [];
  const workers: Pick<Workers, 'send'> = {
    send: (request) => {
      sent.push(request);
      return Promise.resolve(outcome);
    },
  };
  lane = new SealedLane(workers as Workers, (reason) => lost.push(reason));
});

afterEach(() => {
  lane.close();
  vi.useRealTimers();
});

test('a request that no worker takes is given up after 120 s, and reported once', async () => {
  const answers = [lane.send('a', Buffer.alloc(10), 0), lane.send('b', Buffer.alloc(10), 0)];
  await vi.advanceTimersByTimeAsync(110_000);
  expect(lane.stats).toMatchObject({ kept: 2, keptBytes: 20, lost: 0 });
  expect(lost).toEqual([]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await Promise.all(answers)).toEqual([undefined, undefined]);
  expect(lane.stats).toMatchObject({ kept: 0, keptBytes: 0, lost: 2, lostBy: { old: 2 } });
  expect(lost).toEqual(['old']);
});

test('no more bytes are kept than there is room for; the first refusal is reported', async () => {
  const large = Buffer.alloc(100 * 1_048_576);
  for (const id of ['a', 'b']) void lane.send(id, large, 0);
  await vi.advanceTimersByTimeAsync(1);
  expect(await lane.send('c', large, 0)).toBeUndefined();
  expect(await lane.send('d', large, 0)).toBeUndefined();
  expect(lane.stats).toMatchObject({ kept: 2, lostBy: { full: 2 } });
  expect(lost).toEqual(['full']);
});

test('of one minion no more is kept than its part, and others find room', async () => {
  const large = Buffer.alloc(12 * 1_048_576);
  for (const id of ['a', 'b']) void lane.send(id, large, 0, { asker: 'web1' });
  await vi.advanceTimersByTimeAsync(1);
  expect(await lane.send('c', large, 0, { asker: 'web1' })).toBeUndefined();
  void lane.send('d', large, 0, { asker: 'web2' });
  await vi.advanceTimersByTimeAsync(1);
  expect(lane.stats).toMatchObject({ kept: 3, lostBy: { share: 1, full: 0 } });
  expect(lost).toEqual(['share']);
  outcome = DONE;
  await vi.advanceTimersByTimeAsync(10_000);
  outcome = AWAY;
  for (const id of ['e', 'f']) void lane.send(id, large, 0, { asker: 'web1' });
  await vi.advanceTimersByTimeAsync(1);
  expect(lane.stats).toMatchObject({ kept: 2, lostBy: { share: 1 } });
});

test('a request that is delivered after its minion stopped waiting counts as late', async () => {
  const answer = lane.send('a', Buffer.alloc(10), 0);
  await vi.advanceTimersByTimeAsync(30_000);
  outcome = DONE;
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await answer).toEqual(DONE);
  expect(lane.stats).toMatchObject({ kept: 0, redelivered: 1, late: 1, lost: 0 });
});

test.each([3_600_000, -3_600_000])('a wall clock that is set by %i ms ends nothing', async (by) => {
  const answer = lane.send('a', Buffer.alloc(10), 0);
  await vi.advanceTimersByTimeAsync(1_000);
  vi.setSystemTime(Date.now() + by);
  await vi.advanceTimersByTimeAsync(20_000);
  outcome = DONE;
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await answer).toEqual(DONE);
  // Workers compare a deadline with their own wall clock: each try gives it in the time of now.
  const left = (sent.at(-1)?.deadlineMs ?? 0) - Date.now();
  expect(left).toBeGreaterThan(90_000);
  expect(left).toBeLessThan(120_000);
});

test.each(['stalled', 'rests'] as const)(
  'a request that workers are lost to is dropped at once and not delivered again (%s)',
  async (why) => {
    outcome = { kind: 'expired', why, handed: true };
    const by = { asker: 'm1', peer: '10.0.0.1' };
    expect(await lane.send('a', Buffer.alloc(10), 0, by)).toBeUndefined();
    expect(sent).toHaveLength(1);
    expect(sent[0]).toMatchObject({ id: 'a', ...by });
    expect(lane.stats).toMatchObject({ kept: 0, lost: 0 });
  },
);
