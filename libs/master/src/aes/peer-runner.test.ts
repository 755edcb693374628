import { PrivateKey } from '@brine/crypt';
import { type MemoryMaster, memoryMaster, vectorFile } from '@brine/testing';
import { mapOf, type SaltMap, type SaltValue, unpackMap } from '@brine/wire';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { FunctionCall, FunctionOutcome } from '../ports/ports.ts';
import { minionRunner } from './peer-runner.ts';

const auth = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const REQUEST = { id: 'r1', body: Buffer.alloc(0), gatewayHost: 'h' };

let made: MemoryMaster;
let calls: FunctionCall[];
let outcome: () => Promise<FunctionOutcome>;
let isFull: boolean;
beforeEach(() => {
  calls = [];
  isFull = false;
  outcome = () => Promise.resolve({ value: ['web1'], success: true });
  made = memoryMaster({
    masterKey: PrivateKey.parse(auth.master_key.pem),
    knownRunners: ['manage.up', 'jobs.active'],
    isFull: () => isFull,
    runRunner: (call) => {
      calls.push(call);
      return outcome();
    },
    rules: {
      runningUser: 'salt',
      peerRun: { 'web.*': ['manage\\.', 'test\\.'], web1$: ['jobs.active', mapOf({ x: ['.*'] })] },
    },
  });
});
afterEach(() => vi.useRealTimers());

const ask = (minion: string, fun: SaltValue, more: SaltMap = mapOf({ arg: [] })) =>
  minionRunner(made.ports, REQUEST, minion, new Map([...more, ['fun', fun]]));

test('a runner that peer_run allows runs as the user of the master, and is answered', async () => {
  expect(await ask('web1', 'manage.up', mapOf({ arg: ['web*', 'timeout=3'] }))).toEqual(['web1']);
  const jid = calls[0]!.jid;
  const args = ['web*', 'timeout=3'];
  const call = { kind: 'runner', fun: 'manage.up', user: 'salt', principal: 'web1', args };
  expect(calls).toMatchObject([call]);
  expect(calls[0]!.caller?.get('principal')).toBe('minion/web1');
  const tags = [`salt/run/${jid}/new`, `salt/run/${jid}/ret`, `salt/job/${jid}/ret/test_master`];
  expect(made.events.map(({ tag }) => tag)).toEqual(tags);
  expect(unpackMap(made.events[1]!.body).get('return')).toEqual(['web1']);
  expect(made.audited).toMatchObject([{ kind: 'runner', outcome: 'done', principal: 'web1' }]);
});

test('keywords differ from arguments, and names of Salt itself are none', async () => {
  const keywords = mapOf({ __kwarg__: true, timeout: 3, __user__: 'x' });
  await ask('web1', 'manage.up', mapOf({ arg: ['web*', keywords] }));
  expect(calls).toMatchObject([{ args: ['web*'], kwargs: mapOf({ timeout: 3 }) }]);
});

test.each<[string, SaltValue, SaltMap]>([
  ['db1', 'manage.up', mapOf({ arg: [] })],
  ['web2', 'jobs.active', mapOf({ arg: [] })],
  ['web1', 'jobs.list_jobs', mapOf({ arg: [] })],
  ['web1', 'x.manage.up', mapOf({ arg: [] })],
  ['web1', 7, mapOf({ arg: [] })],
  ['web1', 'manage.up', mapOf({})],
  ['web1', 'manage.up', mapOf({ arg: 'web*' })],
])('%s may not run %j with %o', async (minion, fun, more) => {
  expect(await ask(minion, fun, more)).toEqual(new Map());
  expect(calls).toEqual([]);
  expect(made.counts.get('peer_runner_refused')).toBe(1);
  expect(made.audited).toMatchObject([{ kind: 'runner', outcome: 'refused', principal: minion }]);
});

test('without peer_run nothing runs', async () => {
  Object.assign(made.ports, { rules: { ...made.ports.rules, peerRun: undefined } });
  expect(await ask('web1', 'manage.up')).toEqual(new Map());
});

test('an allowed name that no runner has is answered as Salt does', async () => {
  expect(await ask('web1', 'test.nope')).toBe("'test.nope' is not available.");
  expect(made.events).toEqual([]);
});

test('while too many runners run, the answer asks the minion to try again', async () => {
  isFull = true;
  expect(await ask('web1', 'manage.up')).toBe('32 runners are running: try again');
  expect(calls).toEqual([]);
});

test('a runner that takes long goes on when the minion waits no more', async () => {
  vi.useFakeTimers();
  let finish: (outcome: FunctionOutcome) => void = () => undefined;
  outcome = () => new Promise((resolve) => (finish = resolve));
  const answer = ask('web1', 'manage.up');
  await vi.advanceTimersByTimeAsync(20_000);
  expect(await answer).toBe("'manage.up' runner publish timed out");
  expect(made.events).toHaveLength(1);
  finish({ value: [], success: true });
  await Promise.all(made.background);
  expect(made.events.map(({ kind }) => kind)).toEqual(['local', 'local', 'run']);
});
