import type { TestNats } from '@brine/testing';
import { startNats } from '@brine/testing';
import type { SaltValue } from '@brine/wire';
import { mapOf } from '@brine/wire';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Bus } from '../connection/connect.ts';
import { ask, serve } from './queries.ts';

let nats: TestNats;
let worker: Bus;
let store: Bus;

beforeAll(async () => {
  nats = await startNats();
  worker = await nats.connect('worker-pool');
  store = await nats.connect('job-cache-returner');
}, 600_000);

afterAll(() => nats.close());

test('a question is answered with a value of Salt’s kinds', async () => {
  const answering = serve(store, 'jobs.echo', (question) => question);
  await store.flush();
  const value: SaltValue = mapOf({ jid: '2026', raw: Buffer.from([0xff, 0]), n: [1, null, true] });
  expect(await ask(worker, 'jobs.echo', value, 10_000)).toEqual(value);
  expect(await ask(worker, 'brine.jobs.echo', 'x', 10_000)).toBe('x');
  await answering.close();
});

test('an answer of 3 MB goes by reference, as does such a question', async () => {
  const answering = serve(store, 'jobs.large', (question) => [question, question]);
  await store.flush();
  const large = 'x'.repeat(1_500_000);
  expect(await ask(worker, 'jobs.large', large, 5_000)).toEqual([large, large]);
  await answering.close();
});

test('of several that serve a subject each question goes to one', async () => {
  let asked = 0;
  const other = await nats.connect('job-cache-returner');
  const both = [store, other].map((bus) => serve(bus, 'jobs.count', () => ++asked));
  await Promise.all([store.flush(), other.flush()]);
  await Promise.all(Array.from({ length: 50 }, () => ask(worker, 'jobs.count', null, 10_000)));
  expect(asked).toBe(50);
  await Promise.all(both.map((answering) => answering.close()));
});

test('a failure, a timeout and a missing service give different errors', async () => {
  const failing = serve(store, 'jobs.fail', () => {
    throw new Error('no such table');
  });
  const silent = serve(store, 'jobs.silent', () => new Promise(() => undefined));
  await store.flush();
  await expect(ask(worker, 'jobs.fail', null, 10_000)).rejects.toMatchObject({
    code: 'BUS_QUERY_FAILED',
    message: 'no such table',
  });
  await expect(ask(worker, 'jobs.silent', null, 200)).rejects.toMatchObject({
    code: 'BUS_TIMEOUT',
  });
  await expect(ask(worker, 'jobs.nobody', null, 10_000)).rejects.toMatchObject({
    code: 'BUS_NO_ANSWER',
  });
  await failing.close();
  void silent;
});
