import { Bucket, type Bus } from '@brine/bus';
import { type JobFilesState, PublicationWriter, serveJobFiles } from '@brine/bus/jobs';
import { type Answering, serve } from '@brine/bus/rpc';
import type { Job } from '@brine/job';
import { startNats, type TestNats } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { mapOf, pack } from '@brine/wire';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { jobLookups } from './job-lookups.ts';
import { StreamPublications } from './streams.ts';

let nats: TestNats;
let worker: Bus;
let serving: Answering | undefined;
/** Questions that a host or the store has answered. */
let questions = 0;
let warnings: unknown[] = [];

beforeAll(async () => {
  nats = await startNats();
  worker = await nats.connect('worker-pool');
}, 600_000);
afterEach(async () => {
  await serving?.close();
  serving = undefined;
  questions = 0;
  warnings = [];
});
afterAll(() => nats.close());

function publications(masterJobCache = 'local_cache'): StreamPublications {
  const warn = (about: unknown): void => void warnings.push(about);
  return new StreamPublications({
    bus: worker,
    writer: new PublicationWriter(worker),
    requests: new Bucket(worker, 'brine_requests'),
    telemetry: { recordSpan: () => undefined, log: { info: () => undefined, warn } } as never,
    events: { full: false },
    // No test here waits for the end of a time.
    lookups: jobLookups(worker, masterJobCache, { busyMs: 60_000, absentMs: 0 }),
  });
}

let jobs = 0;
function newJob(): Job {
  jobs += 1;
  const jid = `2026112717103712${String(jobs).padStart(4, '0')}`;
  return {
    jid,
    publication: pack(mapOf({ jid })),
    load: pack(mapOf({ jid })),
    principal: 'root key',
    user: 'root',
    fun: 'test.ping',
    tgt: '*',
    tgtType: 'glob',
    minions: ['m1'],
    missing: [],
    publishedAt: 0,
    deadlineAt: 1,
    notAfter: 1,
    hidden: false,
    host: 'a.example',
    requestId: `req-${jid}`,
  };
}

/** A busy host: it answers, and has come to no job before `state` is changed. */
async function busyHost(): Promise<{ state: JobFilesState }> {
  const host: { state: JobFilesState } = { state: 'awaited' };
  const bus = await nats.connect('event-bus');
  serving = serveJobFiles(bus, 'a.example', () => {
    questions += 1;
    return Promise.resolve(host.state);
  });
  await bus.flush();
  return host;
}

/** Whether a promise has been settled. */
function settled(promise: Promise<unknown>): () => boolean {
  let isSettled = false;
  void promise.finally(() => (isSettled = true));
  return () => isSettled;
}

test('a publish is answered once a busy host has the files of its job', async () => {
  const host = await busyHost();
  const job = newJob();
  const publishing = publications().publish(job);
  const isAnswered = settled(publishing);
  // The first one is asked only after the wait for its report.
  await until('the host is asked twice', () => questions >= 2);
  expect(isAnswered()).toBe(false);
  host.state = 'written';
  expect(await publishing).toMatchObject({ jid: job.jid });
  // Only the store did not report.
  expect(warnings).toEqual([{ jid: job.jid, missing: ['store'] }]);
});

test('so is another try of the same request, whose report went to the first', async () => {
  const host = await busyHost();
  const job = newJob();
  host.state = 'written';
  await publications().publish(job);
  const before = questions;
  host.state = 'awaited';
  const again = publications().publish({ ...newJob(), requestId: job.requestId });
  const isAnswered = settled(again);
  await until('the host is asked twice', () => questions >= before + 2);
  expect(isAnswered()).toBe(false);
  host.state = 'written';
  expect(await again).toMatchObject({ jid: job.jid });
});

test('a host that can not write the files holds no publish up', async () => {
  const host = await busyHost();
  host.state = 'failed';
  const job = newJob();
  await publications().publish(job);
  expect(questions).toBe(1);
  expect(warnings).toEqual([{ jid: job.jid, missing: ['store', 'host:a.example'] }]);
});

test('a host without an event bus holds no publish up', async () => {
  const job = newJob();
  expect(await publications().publish(job)).toMatchObject({ jid: job.jid });
  expect(warnings).toEqual([{ jid: job.jid, missing: ['store', 'host:a.example'] }]);
});

test('where tools look in PostgreSQL, a publish waits for a busy store', async () => {
  const load: { value: ReturnType<typeof mapOf> | null } = { value: null };
  const store = await nats.connect('job-cache-returner');
  serving = serve(store, 'jobs.get_load', () => {
    questions += 1;
    return load.value;
  });
  await store.flush();
  const job = newJob();
  const publishing = publications('pgjsonb').publish(job);
  const isAnswered = settled(publishing);
  await until('the store is asked twice', () => questions >= 2);
  expect(isAnswered()).toBe(false);
  load.value = mapOf({ jid: job.jid });
  expect(await publishing).toMatchObject({ jid: job.jid });
  expect(warnings).toEqual([{ jid: job.jid, missing: ['host:a.example'] }]);
});

test('who reads the store waits for no host', async () => {
  await busyHost();
  const job = newJob();
  await publications().publish(job, true);
  expect(questions).toBe(0);
  expect(warnings).toEqual([{ jid: job.jid, missing: ['store'] }]);
  await publications().publish({ ...newJob(), requestId: job.requestId }, true);
  expect(questions).toBe(0);
});
