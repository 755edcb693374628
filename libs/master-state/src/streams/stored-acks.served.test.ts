import type { Bus } from '@brine/bus';
import { announceCommits } from '@brine/bus/events';
import { type Answering, serve } from '@brine/bus/rpc';
import { MasterUnavailableError } from '@brine/master';
import { startNats, type TestNats } from '@brine/testing';
import { isMap, listOf } from '@brine/wire';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { StoredAcks } from './stored-acks.ts';

let nats: TestNats;
let store: Bus;
let worker: Bus;
let acks: StoredAcks;
let serving: Answering | undefined;
let questions: unknown[];

beforeAll(async () => {
  nats = await startNats({ streams: false });
  [store, worker] = [await nats.connect('job-cache-returner'), await nats.connect('worker-pool')];
}, 600_000);

beforeEach(async () => {
  questions = [];
  acks = new StoredAcks(worker);
  await worker.flush();
});

afterEach(async () => {
  acks.close();
  await serving?.close();
  serving = undefined;
});

afterAll(() => nats.close());

/** A store that says of every return that it has it, or not. */
async function storeSays(stored: boolean): Promise<void> {
  serving = serve(store, 'jobs.stored', (question) => {
    const returns = isMap(question) ? (listOf(question, 'returns') ?? []) : [];
    questions.push(...returns);
    return returns.map(() => stored);
  });
  await store.flush();
}

const at = (seq: number, duplicate = false) => ({ jid: 'j', id: `m${seq}`, seq, duplicate });

test('a return is answered when the store reports its commit, without a question', async () => {
  await storeSays(false);
  const waits = [1, 2, 3].map((seq) => acks.stored(at(seq)));
  announceCommits(store, [1, 2, 3]);
  await Promise.all(waits);
  expect(acks.stats).toEqual({ waiting: 0, told: 3, asked: 0, unanswered: 0 });
  expect(questions).toEqual([]);
});

test('a word that was lost is asked for, all in one question', async () => {
  await storeSays(true);
  await Promise.all([4, 5].map((seq) => acks.stored(at(seq))));
  expect(acks.stats).toMatchObject({ told: 0, asked: 2 });
  expect(questions).toEqual([
    ['j', 'm4'],
    ['j', 'm5'],
  ]);
});

test('a return that the stream knew already is asked for at once', async () => {
  await storeSays(true);
  await acks.stored(at(6, true));
  expect(acks.stats).toMatchObject({ asked: 1 });
});

test('a return that is not committed in time has no answer', async () => {
  await storeSays(false);
  await expect(acks.stored(at(7))).rejects.toBeInstanceOf(MasterUnavailableError);
  expect(acks.stats).toMatchObject({ waiting: 0, unanswered: 1 });
});

test('while the store is away no request waits long, and its first word ends that', async () => {
  await expect(acks.stored(at(8))).rejects.toBeInstanceOf(MasterUnavailableError);
  // It began later than one of a worker that does not know of it, and ends before.
  const ended: string[] = [];
  const other = new StoredAcks(worker);
  const first = other.stored(at(8)).catch(() => void ended.push('8'));
  await acks.stored(at(9)).catch(() => void ended.push('9'));
  await first;
  other.close();
  expect(ended).toEqual(['9', '8']);
  await storeSays(true);
  await acks.stored(at(10));
  await acks.stored(at(11));
  expect(acks.stats).toMatchObject({ asked: 2, unanswered: 2 });
});
