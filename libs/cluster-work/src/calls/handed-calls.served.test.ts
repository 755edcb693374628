import { Bucket } from '@brine/bus';
import { SecretBox } from '@brine/crypt';
import type { FunctionCall, FunctionOutcome } from '@brine/master';
import { startNats, type TestNats, vectorFile } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { mapOf } from '@brine/wire';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { RunOffers } from '../ownership/run-offers.ts';
import { RunStore } from '../ownership/run-store.ts';
import { keptCallOf } from './call-record.ts';
import { HandedCalls, reportOutcome, serveAdmissions } from './handed-calls.ts';
import { endedBatchOf, serveUnderWay, underWayOf } from './under-way.ts';

const { keys } = vectorFile<{ keys: { pem: string }[] }>('rsa.json');
const box = SecretBox.fromMasterKey(keys[0]!.pem, 'runs');
const CALL: FunctionCall = {
  kind: 'wheel',
  fun: 'key.list_all',
  jid: '20261129120000123456',
  user: 'root',
  principal: 'root',
  traceparent: '00-1-2-01',
  args: [1, 'two'],
  kwargs: mapOf({ three: true }),
};

let nats: TestNats;
const ends: (() => Promise<void>)[] = [];

beforeEach(async () => {
  nats = await startNats();
});
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  await nats.close();
});

/** A process that hands calls over. */
async function handing(processId = 'w1') {
  const bus = await nats.connect('runner-pool');
  const counts: string[] = [];
  const handed = new HandedCalls({
    bus,
    processId,
    runs: new RunOffers(new Bucket(bus, 'brine_runs'), box),
    checkBatch: (settings) => {
      if (settings.get('size') === 'none') throw new Error('no size');
    },
    count: (outcome) => void counts.push(outcome),
  });
  ends.push(() => handed.close());
  await bus.flush();
  return { handed, counts };
}

/** A store of runs that answers what is under way, and what has ended. */
async function answering() {
  const bus = await nats.connect('runner-pool');
  const store = new RunStore({
    box,
    bucket: new Bucket(bus, 'brine_runs'),
    processId: 'r1',
    releasedError: (jid) => new Error(jid),
    onTrouble: () => undefined,
  });
  const served = serveUnderWay(bus, {
    underWay: async () => (await store.calls()).flatMap((run) => underWayOf(run) ?? []),
    endedBatches: async () => (await store.ended()).flatMap((run) => endedBatchOf(run) ?? []),
  });
  ends.push(
    () => store.close(),
    () => served.close(),
  );
  return store;
}

/** A process that runs them. */
async function running(outcomeOf: (call: FunctionCall) => FunctionOutcome | Error) {
  const bus = await nats.connect('runner-pool');
  const called: FunctionCall[] = [];
  const store = new RunStore({
    box,
    processId: 'r1',
    bucket: new Bucket(bus, 'brine_runs'),
    releasedError: (jid) => new Error(jid),
    onTrouble: () => undefined,
  });
  store.serve({
    kinds: new Set(['call', 'batch']),
    hasRoom: () => true,
    takeOver: async (run) => {
      const call = keptCallOf(run.call, run.jid, run.input);
      if (call === undefined) return;
      called.push(call);
      const outcome = outcomeOf(call);
      if (outcome instanceof Error) throw outcome;
      await reportOutcome(bus, run.call, run.jid, outcome);
      await run.end();
    },
  });
  await store.whenReady();
  const admissions = serveAdmissions(bus, async (kind, fun) => {
    if (fun === 'test.gone') return 'unknown';
    return kind === 'wheel' ? 'full' : 'yes';
  });
  await bus.flush();
  ends.push(() => store.close(), admissions.close);
  return { called, store };
}

test('a call comes whole to the process that runs it, and its outcome back', async () => {
  const { called } = await running(() => ({
    value: mapOf({ a: [1] }),
    success: false,
    retcode: 3,
  }));
  const { handed } = await handing();
  const outcome = { value: mapOf({ a: [1] }), success: false, retcode: 3 };
  expect(await handed.call(CALL)).toEqual(outcome);
  expect(called).toEqual([CALL]);
});

test('large arguments and outcomes find their way', async () => {
  const large = 'x'.repeat(1_000_000) + Math.random();
  const { called } = await running(({ args }) => ({ value: args[0] ?? null, success: true }));
  const { handed } = await handing();
  expect(await handed.call({ ...CALL, args: [large] })).toEqual({ value: large, success: true });
  expect(called[0]?.kwargs).toEqual(CALL.kwargs);
});

test('a call is kept while no process runs functions, and refused under a jid that is taken', async () => {
  const { handed } = await handing();
  await handed.begin(CALL);
  await expect(handed.begin(CALL)).rejects.toThrow('is there already');
  const { called } = await running(() => ({ value: true, success: true }));
  await until('it is called', () => called.length === 1);
});

test('a caller learns whether a call may begin', async () => {
  await running(() => ({ value: true, success: true }));
  const { handed } = await handing();
  expect(await handed.admits('runner', 'test.arg')).toBe('yes');
  expect(await handed.admits('runner', 'test.gone')).toBe('unknown');
  expect(await handed.admits('wheel', 'key.list')).toBe('full');
});

test('a batch is kept with its order, and invalid settings are refused before', async () => {
  const { handed, counts } = await handing();
  const order = {
    jid: CALL.jid,
    caller: mapOf({}),
    principal: 'anne',
    command: 'c',
    host: 'h',
    origin: 'api' as const,
    load: mapOf({ tgt: '*' }),
  };
  const invalid = handed.beginBatch({ ...order, settings: mapOf({ size: 'none' }) });
  await expect(invalid).rejects.toThrow('no size');
  expect(await handed.batch(CALL.jid)).toBeUndefined();
  await handed.beginBatch({ ...order, settings: mapOf({ size: '10%' }) });
  const state = mapOf({ ended: false });
  expect(await handed.batch(CALL.jid)).toEqual({ principal: 'anne', command: 'c', state });
  expect(counts).toEqual(['batch_begun']);
});

test('what has not ended is known to processes that run nothing, without what is large', async () => {
  const { handed } = await handing();
  await answering();
  const origin = 'api' as const;
  const who = { caller: mapOf({}), principal: 'anne', host: 'h', origin };
  const order = { ...who, command: 'c', load: mapOf({}) };
  await handed.begin(CALL);
  const [large, batch] = ['20261129120000123457', '20261129120000123458'];
  await handed.begin({ ...CALL, jid: large, args: ['x'.repeat(3_000)] });
  await handed.beginBatch({ ...order, jid: batch, settings: mapOf({ size: '1' }) });
  await until('all are known', async () => (await handed.underWay()).length === 3);
  const found = new Map((await handed.underWay()).map(({ call }) => [call.jid, call]));
  const { kind, fun, user, principal, args, kwargs } = CALL;
  expect(found.get(CALL.jid)).toEqual({ jid: CALL.jid, kind, fun, user, principal, args, kwargs });
  expect(found.get(large)?.args).toEqual([]);
  expect(found.get(batch)).toMatchObject({ kind: 'batch', principal: 'anne' });
  expect((await handed.run(large))?.call.args).toEqual(['x'.repeat(3_000)]);
  expect(await handed.run(batch)).toBeUndefined();
  expect(await handed.run('20261129120000123459')).toBeUndefined();
});

test('batches that have ended are known with where they stopped, page by page', async () => {
  const { handed } = await handing();
  const store = await answering();
  await store.whenReady();
  const jids = [1, 2, 3].map((n) => `2026112912000012346${n}`);
  const call = mapOf({ principal: 'anne' });
  for (const [n, jid] of jids.entries()) {
    const run = await store.begin('batch', jid, { data: mapOf({}), call });
    const plan = mapOf({ active: ['web1'] });
    await run.end(mapOf({ fun: 'test.ping', user: 'bob', completed: n, plan }));
  }
  const orchestration = await store.begin('orchestrate', '20261129120000123470', {
    data: mapOf({}),
    call,
  });
  await orchestration.end(mapOf({ fun: 'x' }));
  const page = (before?: string, limit = 2) => handed.endedBatches({ before, limit });
  await until('all are known', async () => (await page(undefined, 10)).batches.length === 3);
  const first = await page();
  expect(first.batches.map((one) => [one.call.jid, one.call.principal])).toEqual([
    [jids[2], 'anne'],
    [jids[1], 'anne'],
  ]);
  expect(first.batches[0]?.data).toEqual(mapOf({ fun: 'test.ping', user: 'bob', completed: 2 }));
  const second = await page(first.next);
  expect([second.batches.map((one) => one.call.jid), second.next]).toEqual([[jids[0]], undefined]);
  expect(await page(jids[0])).toEqual({ batches: [], next: undefined });
  expect((await handed.underWay()).map((one) => one.call.jid)).toEqual([]);
});
