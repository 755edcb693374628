import { workTakes } from '@brine/testing/waits';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { busInMemory } from '../../test/bus-in-memory.ts';
import { LIMITS } from './limits.ts';
import type { RequestOutcome, RequestToSend } from './pending-request.ts';
import { RequestReceiver } from './request-receiver.ts';
import { RequestSender } from './request-sender.ts';

const HOUR_MS = 3_600_000;
const BODY = Buffer.from('b');
/** How long a log-in takes at the worker, where it is answered at all. */
const LOGIN_MS = 2;

let sender: RequestSender;
/** Log-ins that the worker began, and how many it had at once at most. */
let begun: string[];
let running: number;
let most: number;
/** What the deadlines of these left them, ms. */
let lefts: number[];
/** Ends the oldest log-in that the worker has, where it does not end by itself. */
let ends: (() => void)[] | undefined;

beforeEach(async () => {
  vi.useFakeTimers();
  const bus = busInMemory();
  [begun, lefts, running, most, ends] = [[], [], 0, 0, undefined];
  sender = new RequestSender(bus, { host: 'h' });
  const concurrency = { auth: 100, aes: 1_000 };
  const receiver = new RequestReceiver(bus, { workerId: 'w', host: 'h', concurrency });
  receiver.serve(async ({ id, class: cls, deadlineMs }) => {
    if (cls !== 'auth') return new Promise(() => undefined);
    begun.push(id);
    lefts.push(deadlineMs - Date.now());
    most = Math.max(most, ++running);
    if (ends === undefined) await workTakes(LOGIN_MS);
    else await new Promise<void>((end) => ends?.push(end));
    running -= 1;
    return { kind: 'reply', body: Buffer.from('in') };
  });
  await vi.advanceTimersByTimeAsync(1);
  expect(sender.ready).toBe(true);
});

afterEach(() => {
  sender.close();
  vi.useRealTimers();
});

function logIn(id: string, more: Partial<RequestToSend> = {}): Promise<RequestOutcome> {
  const deadlineMs = Date.now() + LIMITS.login.waitsMs;
  return sender.send({ id, class: 'auth', body: BODY, deadlineMs, ...more });
}

/** As many as there are returns that press. */
async function returnsPress(count: number): Promise<void> {
  const deadlineMs = Date.now() + HOUR_MS;
  for (let n = 0; n < count; n++) {
    void sender.send({ id: `r${n}`, class: 'aes', body: BODY, deadlineMs });
  }
  await vi.advanceTimersByTimeAsync(1);
}

test('while returns are pressing, log-ins go one at a time, but for urgent ones', async () => {
  await returnsPress(300);
  const usual = Array.from({ length: 10 }, (_, n) => logIn(`${n}`));
  await vi.advanceTimersByTimeAsync(2_000);
  for (const outcome of await Promise.all(usual)) expect(outcome.kind).toBe('reply');
  expect(most).toBe(1);
  expect(sender.stats().gaveWay).toBe(10);
  const urgent = Array.from({ length: 5 }, (_, n) => logIn(`u${n}`, { urgent: true }));
  await vi.advanceTimersByTimeAsync(10);
  await Promise.all(urgent);
  expect(most).toBe(5);
  expect(sender.stats().gaveWay).toBe(10);
});

test('without them log-ins go together', async () => {
  const answers = Array.from({ length: 10 }, (_, n) => logIn(`${n}`));
  await vi.advanceTimersByTimeAsync(10);
  await Promise.all(answers);
  expect(most).toBe(10);
  expect(sender.stats().gaveWay).toBe(0);
});

test('an urgent log-in goes before those that wait', async () => {
  ends = [];
  for (let n = 0; n < 24; n += 1) void logIn(`first-${n}`);
  void logIn('waits');
  void logIn('urgent', { urgent: true });
  await vi.advanceTimersByTimeAsync(1);
  expect(begun).toHaveLength(24);
  for (const next of ['urgent', 'waits']) {
    ends.shift()?.();
    await vi.advanceTimersByTimeAsync(1);
    expect(begun.at(-1)).toBe(next);
  }
});

test('a line that is a second old is served newest first, and no log-in is forgotten', async () => {
  ends = [];
  const patient = { deadlineMs: Date.now() + HOUR_MS };
  for (let n = 0; n < 24; n += 1) void logIn(`first-${n}`, patient);
  for (const id of ['a', 'b', 'c']) void logIn(id, patient);
  await vi.advanceTimersByTimeAsync(1);
  expect(begun).toHaveLength(24);
  expect(sender.stats().classes.auth).toMatchObject({ inFlight: 24, waiting: 3 });
  ends.shift()?.();
  await vi.advanceTimersByTimeAsync(1);
  expect(begun.at(-1)).toBe('a');
  await vi.advanceTimersByTimeAsync(1_100);
  void logIn('d', patient);
  for (let n = 0; n < 3; n += 1) ends.shift()?.();
  await vi.advanceTimersByTimeAsync(1);
  expect(begun.slice(-3)).toEqual(['d', 'c', 'b']);
  const late = logIn('late');
  await vi.advanceTimersByTimeAsync(4_100);
  expect(await late).toEqual({ kind: 'expired', why: 'deadline', handed: false });
  expect(sender.stats().classes.auth.waiting).toBe(0);
});

test('a log-in whose minion has hung up before its turn costs no worker anything', async () => {
  ends = [];
  let isGone = false;
  for (let n = 0; n < 24; n += 1) void logIn(`first-${n}`);
  const left = logIn('left', { isGone: () => isGone });
  const stays = logIn('stays', { isGone: () => false });
  await vi.advanceTimersByTimeAsync(1);
  isGone = true;
  ends.shift()?.();
  await vi.advanceTimersByTimeAsync(1);
  expect(await left).toEqual({ kind: 'expired', why: 'gone', handed: false });
  expect(begun.at(-1)).toBe('stays');
  expect(begun).not.toContain('left');
  ends.at(-1)?.();
  await vi.advanceTimersByTimeAsync(1);
  expect(await stays).toMatchObject({ kind: 'reply' });
});

test('a crowd that has hung up is passed over at once', async () => {
  ends = [];
  for (let n = 0; n < 24; n += 1) void logIn(`first-${n}`);
  const left = Array.from({ length: 15_000 }, (_, n) => logIn(`l${n}`, { isGone: () => true }));
  void logIn('stays');
  await vi.advanceTimersByTimeAsync(1);
  ends.shift()?.();
  await vi.advanceTimersByTimeAsync(1);
  await Promise.all(left);
  expect(begun.at(-1)).toBe('stays');
});

test.each([-HOUR_MS, HOUR_MS])(
  'the clock jumps by %i ms: log-ins in line wait 4 s, no more and no less',
  async (byMs) => {
    ends = [];
    // They outlast the one that waits, which so has no turn.
    const longer = { deadlineMs: Date.now() + 5_000 };
    for (let n = 0; n < 24; n += 1) void logIn(`busy-${n}`, longer);
    const waits = logIn('waits');
    await vi.advanceTimersByTimeAsync(1);
    vi.setSystemTime(Date.now() + byMs);
    await vi.advanceTimersByTimeAsync(3_890);
    expect(sender.stats().classes.auth.waiting).toBe(1);
    await vi.advanceTimersByTimeAsync(200);
    expect(await waits).toEqual({ kind: 'expired', why: 'deadline', handed: false });
    for (const left of lefts) expect(left).toBeCloseTo(5_000, -1);
  },
);
