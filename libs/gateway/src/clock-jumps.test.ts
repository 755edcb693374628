import type { RequestOutcome, RequestSenderStats } from '@brine/bus/rpc';
import { workTakes } from '@brine/testing/waits';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Workers } from './ports.ts';
import { PublishLane } from './publish-lane.ts';
import { RefusedMinions } from './urgent-log-ins.ts';

const HOUR_MS = 3_600_000;
const ASKER = { peer: { gone: false, address: '' } };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** As an operator or ntpd sets it: time continues at its pace. */
function setClock(byMs: number): void {
  vi.setSystemTime(Date.now() + byMs);
}

/** Workers that answer each request after 10 ms, and keep what its deadline left them. */
function workersWith(lefts: number[]): Workers {
  const idle = { inFlight: 0, waiting: 0, bytes: 0 };
  const classes = { auth: idle, clear: idle, aes: idle };
  return {
    ready: true,
    expected: true,
    send: async ({ deadlineMs }) => {
      lefts.push(deadlineMs - Date.now());
      const body = Buffer.from(`answer ${lefts.length}`);
      await workTakes(10);
      return { kind: 'reply', body } satisfies RequestOutcome;
    },
    stats: () => ({ classes, workers: 1 }) as RequestSenderStats,
  };
}

test.each([-HOUR_MS, HOUR_MS])(
  'the clock jumps by %i ms: the same command, seconds later, is a job of its own',
  async (byMs) => {
    const lefts: number[] = [];
    const lane = new PublishLane(workersWith(lefts), {
      claim: async (_hash, id) => id,
      answered: async () => undefined,
      delivered: async () => undefined,
    });
    const publish = async (): Promise<string> => {
      const asking = lane.send('r', Buffer.from('publish'), ASKER, 'root');
      await vi.advanceTimersByTimeAsync(10);
      const answer = await asking;
      // Its CLI had hung up: the answer is kept for the next try, for seconds.
      answer?.handed(0);
      return Buffer.from(answer?.body ?? []).toString();
    };
    expect(await publish()).toBe('answer 1');
    setClock(byMs);
    expect(await publish()).toBe('answer 1');
    await vi.advanceTimersByTimeAsync(6_100);
    expect(await publish()).toBe('answer 2');
    expect(lefts[1]).toBe(lefts[0]);
  },
);

test('the clock is put back: a minion that was refused is urgent for 10 s, not for an hour', async () => {
  // An entry from the time 0 has no end for lru-cache, and a process is older than that.
  await vi.advanceTimersByTimeAsync(1);
  const refused = new RefusedMinions();
  refused.add('m1');
  refused.add('m2');
  setClock(-HOUR_MS);
  expect(refused.take('m1')).toBe(true);
  await vi.advanceTimersByTimeAsync(11_000);
  expect(refused.take('m2')).toBe(false);
});
