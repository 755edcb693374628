import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startNats, type TestNats } from '@brine/testing';
import { loadPauses, until } from '@brine/testing/waits';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Bus } from '../connection/connect.ts';
import type { RequestToSend } from './pending-request.ts';
import { RequestSender } from './request-sender.ts';
import type { Stall } from './suspects.ts';

interface WorkerProcess {
  readonly child: ChildProcess;
  readonly gone: Promise<unknown>;
  /** The ids of the requests that it got. */
  readonly got: string[];
}

let nats: TestNats;
let gateway: Bus;
let sender: RequestSender;
let refused: Stall[] = [];
const workers: WorkerProcess[] = [];

beforeAll(async () => {
  nats = await startNats();
}, 600_000);

afterAll(() => nats.close());

beforeEach(async () => {
  refused = [];
  gateway = await nats.connect('req-gateway');
  const onStalled = (stall: Stall): void => void refused.push(stall);
  sender = new RequestSender(gateway, { host: 'gw.example', onStalled });
});

afterEach(async () => {
  sender.close();
  await gateway.close();
  const ended = workers.splice(0).map(({ child, gone }) => {
    child.kill('SIGKILL');
    return gone;
  });
  await Promise.all(ended);
});

async function startWorkers(names: readonly string[], delayMs = 0): Promise<void> {
  const script = fileURLToPath(new URL('../../test/worker-process.ts', import.meta.url));
  const node = ['--conditions=source', '--import', 'tsx', script, nats.urls['worker-pool']];
  const ready = names.map((name) => {
    const child = spawn(process.execPath, [...node, name, String(delayMs)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const got: string[] = [];
    workers.push({ child, got, gone: once(child, 'exit') });
    return new Promise<void>((resolve) => {
      child.stdout.on('data', (chunk: Buffer) => {
        const text = chunk.toString();
        for (const [, id = ''] of text.matchAll(/got (\S+)/g)) got.push(id);
        if (text.includes('ready')) resolve();
      });
    });
  });
  await Promise.all(ready);
  await until('all workers are heard', () => sender.stats().workers === names.length);
}

let ids = 0;

function request(body: string, asker?: string): RequestToSend {
  const deadlineMs = Date.now() + 60_000;
  const by = asker === undefined ? {} : { asker };
  return { id: `r${ids++}`, class: 'aes', body: Buffer.from(body), deadlineMs, ...by };
}

const isAlone = (): boolean =>
  sender.stats().workers === 0 && sender.stats().classes.aes.waiting === 1;
const gotBy = (id: string): number => workers.filter(({ got }) => got.includes(id)).length;
const STALLED = { kind: 'expired', why: 'stalled', handed: true };

test('a request that blocks two workers is refused, and the third lives', async () => {
  await startWorkers(['a', 'b', 'c']);
  const poison = request('block');
  expect(await sender.send(poison)).toEqual(STALLED);
  expect(gotBy(poison.id)).toBe(2);
  expect(await sender.send(request('hello'))).toMatchObject({ kind: 'reply' });
  expect(refused).toHaveLength(1);
  expect(refused[0]).toMatchObject({ request: poison, requests: 1 });
  expect(refused[0]?.workers).toHaveLength(2);
  expect(sender.stats()).toMatchObject({ stalled: 1, workers: 1 });
});

test('the same request again, under its id, does not get a third worker', async () => {
  await startWorkers(['a', 'b', 'c']);
  const poison = request('block');
  const short = { ...poison, deadlineMs: Date.now() + 3_500 };
  expect(await sender.send(short)).toMatchObject({ why: 'deadline' });
  expect(gotBy(poison.id)).toBe(2);
  expect(await sender.send(poison)).toMatchObject({ why: 'stalled' });
  expect(gotBy(poison.id)).toBe(2);
});

test('requests that were with it at its workers are answered, the more so the more they are', async () => {
  await startWorkers(['a', 'b', 'c']);
  const others = Array.from({ length: 150 }, (_, n) => request('hello', `m${n}`));
  // Those before it in line go well, so it comes to its second worker when several suspects go.
  const sent = others.map((one) => sender.send(one));
  const poison = sender.send(request('block', 'bad'));
  const answers = await Promise.all(sent);
  const unanswered = answers.filter(({ kind }) => kind !== 'reply');
  expect(unanswered).toEqual([]);
  expect(await poison).toEqual(STALLED);
  expect(refused).toHaveLength(1);
});

test('one asker costs two workers, however many such requests it sends', async () => {
  await startWorkers(['a', 'b', 'c']);
  const sent = Array.from({ length: 40 }, () => request('block', 'bad'));
  const outcomes: Promise<unknown>[] = [];
  for (const one of sent) {
    outcomes.push(sender.send(one));
    await loadPauses(50);
  }
  await until('one is refused', () => refused.length > 0, { withinMs: 60_000 });
  expect(workers.filter(({ got }) => got.length > 0)).toHaveLength(2);
  expect(await sender.send(request('hello', 'bad'))).toMatchObject({ why: 'rests' });
  // Other askers are served meanwhile.
  expect(await sender.send(request('hello', 'good'))).toMatchObject({ kind: 'reply' });
  expect(sender.stats().resting).toBeGreaterThan(0);
  expect(workers.filter(({ got }) => got.length > 0)).toHaveLength(3);
  sender.close();
  await Promise.all(outcomes);
});

test('workers that were stopped for a while and go on do not count', async () => {
  await startWorkers(['a', 'b'], 300);
  const slow = request('hello', 'm');
  const answer = sender.send(slow);
  await until('one worker has it', () => gotBy(slow.id) === 1);
  workers.find(({ got }) => got.length > 0)?.child.kill('SIGSTOP');
  await until('a second has it', () => gotBy(slow.id) === 2, { withinMs: 60_000 });
  for (const { child } of workers) child.kill('SIGSTOP');
  await until('it waits, and there is no worker', isAlone, { withinMs: 60_000 });
  for (const { child } of workers) child.kill('SIGCONT');
  expect(await answer).toMatchObject({ kind: 'reply' });
  expect(await sender.send(request('hello', 'm'))).toMatchObject({ kind: 'reply' });
  expect(refused).toEqual([]);
});

test('a worker that was gone before it got the request does not count', async () => {
  await startWorkers(['a', 'b'], 60_000);
  const honest = request('hello');
  const answer = sender.send(honest);
  await until('a worker has it', () => gotBy(honest.id) === 1);
  for (const { child } of workers) child.kill('SIGKILL');
  await until('there is no worker', () => sender.stats().workers === 0, { withinMs: 60_000 });
  await startWorkers(['c']);
  expect(await answer).toMatchObject({ kind: 'reply' });
  expect(refused).toEqual([]);
});
