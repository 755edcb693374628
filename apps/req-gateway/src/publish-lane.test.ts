import type { RequestOutcome } from '@brine/bus';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Asker, RequestMemory, Workers } from './ports.ts';
import { PublishLane } from './publish-lane.ts';

const BODY = Buffer.from('publish');
const HELLO: Asker = { peer: { gone: false, address: '' } };
/** What a stock CLI waits before it hangs up and sends the same bytes again. */
const CLI_MS = 5_000;

let lane: PublishLane;
let jobs: number;
let workerMs: number;
let told: string[];

beforeEach(() => {
  vi.useFakeTimers();
  jobs = 0;
  workerMs = 10;
  told = [];
  const workers: Workers = {
    ready: true,
    send: async () => {
      jobs += 1;
      const body = Buffer.from(`job ${jobs}`);
      await new Promise((resolve) => setTimeout(resolve, workerMs));
      return { kind: 'reply', body } satisfies RequestOutcome;
    },
    stats: () => {
      throw new Error('nobody asks');
    },
  };
  const memory: RequestMemory = {
    claim: async (_hash, id) => id,
    answered: async (_hash, id) => void told.push(id),
  };
  lane = new PublishLane(workers, memory);
});
afterEach(() => {
  vi.useRealTimers();
});

/** One try of a CLI; with `gone` it has hung up before its answer. */
async function ask(id: string, gone = false): Promise<string | undefined> {
  const asking = lane.send(id, BODY, HELLO, 'root');
  await vi.advanceTimersByTimeAsync(workerMs);
  const answer = await asking;
  answer?.handed(!gone);
  return answer === undefined ? undefined : Buffer.from(answer.body).toString();
}

test('the same command again, after an answer in time, is another job', async () => {
  expect(await ask('a')).toBe('job 1');
  expect(await ask('b')).toBe('job 2');
  expect(told).toEqual(['a', 'b']);
});

test('the next try of a CLI that hung up while its slow answer came gets the same job', async () => {
  workerMs = CLI_MS - 10;
  expect(await ask('a')).toBe('job 1');
  await vi.advanceTimersByTimeAsync(1_200);
  expect(await ask('again')).toBe('job 1');
  expect(jobs).toBe(1);
  expect(lane.stats.joined).toBe(1);
  await vi.advanceTimersByTimeAsync(2_500);
  expect(await ask('b')).toBe('job 2');
});

test('an answer that nobody was there for waits for the next try', async () => {
  expect(await ask('a', true)).toBe('job 1');
  expect(told).toEqual([]);
  await vi.advanceTimersByTimeAsync(CLI_MS);
  expect(await ask('again')).toBe('job 1');
  await vi.advanceTimersByTimeAsync(CLI_MS);
  expect(await ask('b')).toBe('job 2');
});
