import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { RequestOutcome, RequestSenderStats } from '@brine/bus';
import { AuthLane } from './auth-lane.ts';
import type { Workers } from './ports.ts';

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
      await pause(2);
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
  const answers = Array.from({ length: 10 }, (_, n) => lane.send(`${n}`, Buffer.from('b'), false));
  expect(await Promise.all(answers)).toHaveLength(10);
  expect(workers.most).toBe(1);
  expect(lane.stats).toMatchObject({ gaveWay: 10, waiting: 0, silent: 0 });
  const urgent = Array.from({ length: 5 }, (_, n) => lane.send(`u${n}`, Buffer.from('b'), true));
  await Promise.all(urgent);
  clearInterval(tick);
  expect(workers.most).toBe(5);
});

test('without them log-ins go together', async () => {
  const workers = workersWith(0);
  const lane = new AuthLane(workers);
  const answers = Array.from({ length: 10 }, (_, n) => lane.send(`${n}`, Buffer.from('b'), false));
  await Promise.all(answers);
  expect(workers.most).toBe(10);
  expect(lane.stats.gaveWay).toBe(0);
});
