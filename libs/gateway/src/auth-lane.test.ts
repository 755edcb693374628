import type { RequestOutcome, RequestSenderStats } from '@brine/bus/rpc';
import { workTakes } from '@brine/testing/waits';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { AuthLane } from './auth-lane.ts';
import type { Workers } from './ports.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const LOGIN = { body: Buffer.from('b'), peer: { gone: false, address: '' } };
const REPLY: RequestOutcome = { kind: 'reply', body: Buffer.from('in') };

function workersWith(sealedInHand: number): Workers & { most: number } {
  let running = 0;
  const idle = { inFlight: 0, waiting: 0, bytes: 0 };
  const classes = { auth: idle, clear: idle, aes: { ...idle, inFlight: sealedInHand } };
  return {
    ready: true,
    most: 0,
    async send() {
      running += 1;
      this.most = Math.max(this.most, running);
      await workTakes(2);
      running -= 1;
      return REPLY;
    },
    stats: () => ({ classes, workers: 1 }) as RequestSenderStats,
  };
}

test('while returns are pressing, log-ins go one at a time, but for urgent ones', async () => {
  const workers = workersWith(1_000);
  const lane = new AuthLane(workers);
  const tick = setInterval(() => lane.tick(), 5);
  onTestFinished(() => clearInterval(tick));
  const answers = Array.from({ length: 10 }, (_, n) => lane.send(`${n}`, LOGIN, false));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await Promise.all(answers)).toHaveLength(10);
  expect(workers.most).toBe(1);
  expect(lane.stats).toMatchObject({ gaveWay: 10, waiting: 0, silent: 0 });
  const urgent = Array.from({ length: 5 }, (_, n) => lane.send(`u${n}`, LOGIN, true));
  await vi.advanceTimersByTimeAsync(10);
  await Promise.all(urgent);
  expect(workers.most).toBe(5);
});

test('without them log-ins go together', async () => {
  const workers = workersWith(0);
  const lane = new AuthLane(workers);
  const answers = Array.from({ length: 10 }, (_, n) => lane.send(`${n}`, LOGIN, false));
  await vi.advanceTimersByTimeAsync(2);
  await Promise.all(answers);
  expect(workers.most).toBe(10);
  expect(lane.stats.gaveWay).toBe(0);
});

test('a line that is a second old is served newest first, and nobody is forgotten', async () => {
  vi.useFakeTimers();
  try {
    const begun: string[] = [];
    const open: ((outcome: RequestOutcome) => void)[] = [];
    const workers: Workers = {
      ...workersWith(0),
      send: ({ id }) => {
        begun.push(id);
        return new Promise((resolve) => open.push(resolve));
      },
    };
    const lane = new AuthLane(workers);
    const answers: Promise<unknown>[] = [];
    const come = (id: string): void => void answers.push(lane.send(id, LOGIN, false));
    for (let n = 0; n < 24; n += 1) come(`first-${n}`);
    for (const id of ['a', 'b', 'c']) come(id);
    expect(begun).toHaveLength(24);
    open.shift()?.(REPLY);
    await vi.advanceTimersByTimeAsync(0);
    expect(begun.at(-1)).toBe('a');
    await vi.advanceTimersByTimeAsync(1_100);
    come('d');
    for (let n = 0; n < 3; n += 1) open.shift()?.(REPLY);
    await vi.advanceTimersByTimeAsync(0);
    expect(begun.slice(-3)).toEqual(['d', 'c', 'b']);
    come('late');
    await vi.advanceTimersByTimeAsync(4_100);
    lane.tick();
    expect(lane.stats).toMatchObject({ waiting: 0, silent: 1 });
    expect(await answers.at(-1)).toBeUndefined();
  } finally {
    vi.useRealTimers();
  }
});

test('who has hung up before his turn comes costs no worker anything', async () => {
  const begun: string[] = [];
  const open: ((outcome: RequestOutcome) => void)[] = [];
  const workers: Workers = {
    ...workersWith(0),
    send: ({ id }) => {
      begun.push(id);
      return new Promise((resolve) => open.push(resolve));
    },
  };
  const lane = new AuthLane(workers);
  for (let n = 0; n < 24; n += 1) void lane.send(`first-${n}`, LOGIN, false);
  const leaving = { body: LOGIN.body, peer: { gone: false, address: '' } };
  const left = lane.send('left', leaving, false);
  const stays = lane.send('stays', LOGIN, false);
  leaving.peer.gone = true;
  open.shift()?.(REPLY);
  expect(await left).toBeUndefined();
  expect(begun.at(-1)).toBe('stays');
  expect(begun).not.toContain('left');
  expect(lane.stats).toMatchObject({ abandoned: 1, waiting: 0 });
  open.at(-1)?.(REPLY);
  expect(await stays).toMatchObject({ kind: 'reply' });
});
