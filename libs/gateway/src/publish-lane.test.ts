import type { RequestOutcome } from '@brine/bus/rpc';
import { workTakes } from '@brine/testing/waits';
import { isMap, textOf, unpack } from '@brine/wire';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { Asker, RequestMemory, Workers } from './ports.ts';
import { PublishLane } from './publish-lane.ts';

const BODY = Buffer.from('publish');
const HELLO: Asker = { peer: { gone: false, address: '' } };
/** How long a stock CLI waits before it hangs up and sends the same bytes again. */
const CLI_MS = 5_000;
/** After so long what is read was not sent before the gateway began. */
const STARTED_MS = 500;

let lane: PublishLane;
let workers: Workers;
let memory: RequestMemory;
let jobs: number;
let workerMs: number;
let told: string[];
/** For how long each of these may be asked for again. */
let kept: number[];
/** How long the answers to claims were waited for. */
let waits: number[];
/** How old the claims were. */
let waited: number[];
let known: string[];
let ready: boolean;
/** True if a worker is expected, though none is there. */
let expected: boolean;
let isMemoryThere: boolean;
/** Outcomes before the reply, each at the deadline of its try. */
let silences: RequestOutcome[];

beforeEach(() => {
  vi.useFakeTimers();
  jobs = 0;
  workerMs = 10;
  told = [];
  kept = [];
  waited = [];
  waits = [];
  known = [];
  ready = true;
  expected = false;
  isMemoryThere = true;
  silences = [];
  workers = {
    get ready() {
      return ready;
    },
    get expected() {
      return ready || expected;
    },
    send: async ({ deadlineMs }) => {
      const silence = silences.shift();
      if (silence !== undefined) {
        await workTakes(deadlineMs - Date.now());
        return silence;
      }
      jobs += 1;
      const body = Buffer.from(`job ${jobs}`);
      await workTakes(workerMs);
      return { kind: 'reply', body } satisfies RequestOutcome;
    },
    stats: () => {
      throw new Error('no claim is expected');
    },
  };
  memory = {
    claim: async (_hash, id, { waitedMs }, waitMs) => {
      waited.push(waitedMs);
      waits.push(waitMs);
      if (!isMemoryThere) throw new Error('no worker can be asked');
      return id;
    },
    answered: async (_hash, id, keptMs) => {
      told.push(id);
      kept.push(keptMs);
    },
    delivered: async (_hash, id) => void known.push(id),
  };
  lane = new PublishLane(workers, memory);
  vi.advanceTimersByTime(STARTED_MS);
});
afterEach(() => {
  vi.useRealTimers();
});

/** Makes a try of a CLI; with `gone` it has hung up before its answer. */
async function ask(id: string, gone = false): Promise<string | undefined> {
  const asking = lane.send(id, BODY, HELLO, 'root');
  await vi.advanceTimersByTimeAsync(workerMs);
  const answer = await asking;
  answer?.handed(gone ? 0 : answer.askers.length);
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
  // Its next try may come to another gateway.
  expect(kept).toEqual([2_500, 2_500]);
});

test('an answer whose client was gone waits for its next try', async () => {
  expect(await ask('a', true)).toBe('job 1');
  expect(told).toEqual([]);
  await vi.advanceTimersByTimeAsync(CLI_MS);
  expect(await ask('again')).toBe('job 1');
  await vi.advanceTimersByTimeAsync(CLI_MS);
  expect(await ask('b')).toBe('job 2');
});

test('the third try of a CLI whose first two came at once gets the same job', async () => {
  const asking = lane.send('a', BODY, HELLO, 'root');
  expect(await lane.send('b', BODY, HELLO, 'root')).toBeUndefined();
  await vi.advanceTimersByTimeAsync(workerMs);
  // The gateway had stood still for 8 s; it hung up on the first, and on the second just now.
  (await asking)?.handed(1);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await ask('again')).toBe('job 1');
  await vi.advanceTimersByTimeAsync(6_000);
  expect(await ask('b')).toBe('job 2');
  expect(kept).toEqual([6_000, 0]);
});

test('the same command of two clients at once is one job, and one more after it another', async () => {
  const first = ask('a');
  expect(await lane.send('b', BODY, HELLO, 'root')).toBeUndefined();
  expect(await first).toBe('job 1');
  expect(await ask('c')).toBe('job 2');
});

test('a client that tries again before its delivery is known gets the same job', async () => {
  const asking = lane.send('a', BODY, HELLO, 'root');
  await vi.advanceTimersByTimeAsync(workerMs);
  const answer = await asking;
  expect(await ask('again')).toBe('job 1');
  answer?.handed(1);
  expect(await ask('b')).toBe('job 2');
});

test('the second try of a CLI whose first was sent before the start gets the same job', async () => {
  lane = new PublishLane(workers, memory);
  expect(await ask('a')).toBe('job 1');
  await vi.advanceTimersByTimeAsync(1_200);
  expect(await ask('again')).toBe('job 1');
  await vi.advanceTimersByTimeAsync(2_500);
  expect(await ask('b')).toBe('job 2');
});

/** The error text of a publish that no worker answers, after so long. */
async function refusalAfter(ms: number): Promise<string> {
  const asking = lane.send('a', BODY, HELLO, 'root');
  await vi.advanceTimersByTimeAsync(ms);
  const answer = await asking;
  const value = unpack(answer?.body ?? Buffer.alloc(0));
  return isMap(value) ? (textOf(value, 'error') ?? '') : '';
}

const NOBODY: RequestOutcome = { kind: 'expired', why: 'deadline', handed: false };
const SILENT: RequestOutcome = { kind: 'expired', why: 'deadline', handed: true };

test('without workers a publish is refused before its CLI asks again, and there is no job', async () => {
  ready = false;
  silences = [NOBODY];
  expect(await refusalAfter(2_800)).toContain('no worker answers; the job was not published');
});

test('workers that were there a moment ago are waited for', async () => {
  ready = false;
  expected = true;
  silences = [NOBODY];
  const asking = lane.send('a', BODY, HELLO, 'root');
  await vi.advanceTimersByTimeAsync(3_000);
  expect(Buffer.from((await asking)?.body ?? []).toString()).toBe('job 1');
});

test('once no worker is expected any more, a publish is refused at the next look', async () => {
  ready = false;
  expected = true;
  silences = [NOBODY, NOBODY];
  setTimeout(() => (expected = false), 3_000);
  expect(await refusalAfter(5_800)).toContain('no worker answers; the job was not published');
});

test('the error of busy workers is not that none answers', async () => {
  silences = [NOBODY, NOBODY];
  expect(await refusalAfter(14_000)).toContain('no worker had room; the job was not published');
});

test('a publish that a worker had may be a job, also if no worker is left', async () => {
  ready = false;
  silences = [SILENT, NOBODY];
  expect(await refusalAfter(14_000)).toContain('may have been published');
});

test('a try that comes when the first was given up asks for the same job', async () => {
  const ids: string[] = [];
  const plain = workers;
  const send: Workers['send'] = (sent) => {
    ids.push(sent.id);
    return plain.send(sent);
  };
  lane = new PublishLane({ ...plain, send, ready: false, expected: false }, memory);
  silences = [SILENT, NOBODY];
  const first = lane.send('a', BODY, HELLO, 'root');
  await vi.advanceTimersByTimeAsync(14_000);
  (await first)?.handed(1);
  expect(ids).toEqual(['a', 'a']);
  // Other gateways continue it as well, and none hears of a delivered answer.
  expect([told, kept]).toEqual([['a'], [20_000]]);
  await lane.close();
  expect(known).toEqual([]);
  expect(await ask('b')).toBe('job 1');
  expect(ids.at(-1)).toBe('a');
  // Once there is an answer, the same bytes are another command.
  expect(await ask('c')).toBe('job 2');
  expect(ids.at(-1)).toBe('c');
});

test('a publish that a worker had is waited for: the next worker knows its job', async () => {
  ready = false;
  silences = [SILENT];
  const asking = lane.send('a', BODY, HELLO, 'root');
  await vi.advanceTimersByTimeAsync(3_000);
  expect(Buffer.from((await asking)?.body ?? []).toString()).toBe('job 1');
});

test('a new gateway without its memory does not say that a job was not published', async () => {
  ready = false;
  isMemoryThere = false;
  silences = [NOBODY, NOBODY];
  expect(await refusalAfter(2_800)).toBe('The master is not ready: no worker answers');
  await vi.advanceTimersByTimeAsync(20_000);
  expect(await refusalAfter(2_800)).toContain('the job was not published');
});

test('a publish waits for its memory: the next gateway has to know under which id it went', async () => {
  isMemoryThere = false;
  const asking = lane.send('a', BODY, HELLO, 'root');
  await vi.advanceTimersByTimeAsync(1_000);
  expect(jobs).toBe(0);
  isMemoryThere = true;
  await vi.advanceTimersByTimeAsync(200);
  expect(Buffer.from((await asking)?.body ?? []).toString()).toBe('job 1');
  expect(lane.stats.unremembered).toBe(0);
});

test('while workers live a publish waits for its memory as long as for them', async () => {
  isMemoryThere = false;
  const asking = lane.send('a', BODY, HELLO, 'root');
  await vi.advanceTimersByTimeAsync(9_000);
  expect(jobs).toBe(0);
  isMemoryThere = true;
  await vi.advanceTimersByTimeAsync(200);
  expect(Buffer.from((await asking)?.body ?? []).toString()).toBe('job 1');
  expect(lane.stats.unremembered).toBe(0);
  // Each claim states how old the bytes are.
  expect(waited[0]).toBe(0);
  expect(waited.at(-1)).toBe(9_100);
});

test('each further wait for the memory is longer: on a starved host all answers are late', async () => {
  isMemoryThere = false;
  const asking = lane.send('a', BODY, HELLO, 'root');
  await vi.advanceTimersByTimeAsync(1_000);
  isMemoryThere = true;
  await vi.advanceTimersByTimeAsync(200);
  await asking;
  expect(waits.slice(0, 6)).toEqual([400, 800, 1_600, 3_200, 3_200, 3_200]);
});

test('while workers live a publish without its memory is none: the next try would be another', async () => {
  isMemoryThere = false;
  expect(await refusalAfter(14_000)).toContain('no worker had room');
  expect(jobs).toBe(0);
  expect(lane.stats.unremembered).toBe(1);
});

test('a publish that lay in the socket of a stopped gateway is as old as for its CLI', async () => {
  // Stopped: clocks go on, timers do not.
  vi.setSystemTime(Date.now() + CLI_MS);
  const now = performance.now.bind(performance);
  const later = vi.spyOn(performance, 'now').mockImplementation(() => now() + CLI_MS);
  onTestFinished(() => later.mockRestore());
  const asking = lane.send('a', BODY, HELLO, 'root');
  await vi.advanceTimersByTimeAsync(workerMs);
  const answer = await asking;
  answer?.handed(1);
  expect(await ask('again')).toBe('job 1');
});

test('a gateway that ends reports which answers were delivered, to the next one', async () => {
  expect(await ask('old')).toBe('job 1');
  await vi.advanceTimersByTimeAsync(6_001);
  expect(await ask('a')).toBe('job 2');
  expect(await ask('b')).toBe('job 3');
  await vi.advanceTimersByTimeAsync(1_000);
  await lane.close();
  expect(known).toEqual(['b']);
});

test('a publish that workers were lost to ends, and its client gets the reason', async () => {
  silences = [{ kind: 'expired', why: 'stalled', handed: true }];
  const asking = lane.send('a', BODY, HELLO, 'anne', { asker: 'anne' });
  await vi.advanceTimersByTimeAsync(CLI_MS);
  const answer = unpack((await asking)?.body ?? Buffer.alloc(0));
  expect(isMap(answer) && textOf(answer, 'error')).toMatch(/^Two workers were lost .* published/);
  expect(jobs).toBe(0);
});
