import { BusError } from '@brine/bus';
import type { MasterOptions } from '@brine/config';
import { type FunctionCall, type MasterPorts, MasterUnavailableError } from '@brine/master';
import { type CallToMake, OutageError, type ReactionCall } from '@brine/reactor';
import type { OwnedRunRecord } from '@brine/runners';
import { isMap, mapIn, mapOf, pack, type SaltMap, type SaltValue, unpack } from '@brine/wire';
import { describe, expect, test } from 'vitest';
import { ReactionCalls } from './reaction-calls.ts';

const JID = '20261126120000123456';
const CAUSE = { name: 'my/event', timeMs: 1_000, begunMs: 1_500, link: 'a link' };
const OPTIONS = {
  user: 'root',
  timeout: 5,
  gatherJobTimeout: 5,
  syndicWait: 5,
  sockDir: '/x',
  orderMasters: false,
  nodegroups: {},
  confFile: '/x/master',
} as unknown as MasterOptions;

interface World {
  /** Answers to a publish, in turn; the last one stays. */
  answers: (SaltValue | Error)[];
  /** What the job cache has. */
  stored: (query: string) => SaltValue;
  run: (call: FunctionCall) => Promise<{ value: SaltValue; success: boolean; moved?: true }>;
  runs: (OwnedRunRecord | undefined)[];
  appendFails: number;
  ready: boolean;
}

function scene(world: Partial<World> = {}, atOnce = 2) {
  const published: {
    readonly id: string;
    readonly via: string | undefined;
    readonly load: SaltMap;
  }[] = [];
  const fired: string[] = [];
  const called: FunctionCall[] = [];
  const spans: object[] = [];
  const answers = world.answers ?? [reply(['one'])];
  const runs = [...(world.runs ?? [])];
  let appendFails = world.appendFails ?? 0;
  const ports = {
    rules: { user: 'root', masterMinionId: 'm_master', runnerReturns: true },
    jobs: { ask: async (query: string) => world.stored?.(query) ?? null },
    events: {
      append: async ({ tag }: { tag: string }) => {
        if (tag.endsWith('/ret') && appendFails > 0) {
          appendFails -= 1;
          throw new MasterUnavailableError('the stream of events is unreachable');
        }
        fired.push(tag);
        return { duplicate: false };
      },
    },
  } as unknown as MasterPorts;
  const local = {
    knows: async (_kind: string, fun: string) => fun !== 'no.such',
    run: async (call: FunctionCall) => {
      called.push(call);
      return world.run?.(call) ?? { value: true, success: true };
    },
  };
  const calls = new ReactionCalls({
    options: OPTIONS,
    atOnce,
    ports,
    local,
    ownKey: () => 'key',
    isReady: () => world.ready !== false,
    answer: async (body, { id = '', caller }) => {
      const envelope = unpack(body);
      published.push({
        id,
        via: caller?.via,
        load: (isMap(envelope) && mapIn(envelope, 'load')) || mapOf({}),
      });
      const answer = answers.length > 1 ? answers.shift() : answers[0];
      if (answer instanceof Error) throw answer;
      return pack(answer ?? null);
    },
    runsOf: () => ({ find: async () => runs.shift() }) as never,
    spans: { recordSpan: (span) => void spans.push(span) },
    onTrouble: () => undefined,
  });
  return { calls, published, fired, called, spans };
}

function reply(minions: readonly string[]): SaltMap {
  return mapOf({ enc: 'clear', load: mapOf({ jid: JID, minions: [...minions] }) });
}

function made(call: Partial<ReactionCall>, again = false): CallToMake {
  return { call: call as ReactionCall, jid: JID, key: 'event/EVENTS/7.0/0', again };
}

const PING: ReactionCall = {
  kind: 'local',
  id: 'x',
  fun: 'test.ping',
  tgt: 'one',
  tgtType: 'glob',
  ret: 'smtp',
  jid: '',
  arg: [1],
  kwargs: mapOf({ metadata: mapOf({ a: 1 }) }),
};
const UP: ReactionCall = {
  kind: 'runner',
  id: 'x',
  fun: 'manage.up',
  args: [],
  kwargs: mapOf({ timeout: 1 }),
};

describe('a job', () => {
  test('is published under its job id, by a request that is the same in all tries', async () => {
    const { calls, published, spans } = scene();
    await calls.make(made(PING), CAUSE);
    expect(published.map(({ id }) => id)).toEqual(['reaction:event/EVENTS/7.0/0']);
    expect(published[0]?.via).toBe(`reactor ${CAUSE.name}`);
    expect(Object.fromEntries(published[0]?.load ?? [])).toMatchObject({
      cmd: 'publish',
      fun: 'test.ping',
      tgt: 'one',
      ret: 'smtp',
      jid: JID,
      user: 'root',
      arg: [1],
      key: 'key',
      tracestate: 'brine=asker',
    });
    expect(spans).toMatchObject([
      { name: 'event', jid: JID, part: 'event', startMs: 1_000, endMs: 1_500, link: 'a link' },
      { name: 'reaction', jid: JID, part: 'request', parentPart: 'event', startMs: 1_500 },
    ]);
  });

  test('that no minion matches is no failure', async () => {
    const { calls } = scene({ answers: [reply([])] });
    await expect(calls.make(made(PING), CAUSE)).resolves.toBeUndefined();
  });

  test('that a dead worker had published is not published again', async () => {
    const stored = (query: string): SaltValue => (query === 'job' ? mapOf({ jid: JID }) : null);
    const { calls, published } = scene({ stored });
    await calls.make(made(PING, true), CAUSE);
    expect(published).toEqual([]);
  });

  test('that a dead worker had not published is published, also without the store', async () => {
    const first = scene();
    await first.calls.make(made(PING, true), CAUSE);
    expect(first.published).toHaveLength(1);
    const away = (): SaltValue => {
      throw new MasterUnavailableError('the job cache is away');
    };
    const second = scene({ stored: away });
    await second.calls.make(made(PING, true), CAUSE);
    expect(second.published).toHaveLength(1);
  });

  test.each([
    [mapOf({ error: 'The job could not be published: the stream is full' }), true],
    [mapOf({ error: mapOf({ name: 'AuthorizationError', message: 'no' }) }), false],
    [mapOf({ error: 'Could not allocate a job id' }), false],
    [new BusError('BUS_STREAM_AWAY', 'away'), true],
  ])('whose answer is %j may be tried again: %s', async (answer, isOutage) => {
    const { calls, spans } = scene({ answers: [answer] });
    const error: unknown = await calls.make(made(PING), CAUSE).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(Error);
    expect(error instanceof OutageError).toBe(isOutage);
    expect(spans.at(-1)).toMatchObject({ name: 'reaction', error: expect.any(String) });
  });
});

test('nothing is called while minions are read again: targets would match none', async () => {
  const { calls, published } = scene({ ready: false });
  await expect(calls.make(made(PING), CAUSE)).rejects.toThrow(OutageError);
  expect(published).toEqual([]);
});

describe('a run', () => {
  test('is told before and after, by the user whose events cause no reaction', async () => {
    const { calls, called, fired } = scene();
    await calls.make(made(UP), CAUSE);
    expect(called).toMatchObject([
      { kind: 'runner', fun: 'manage.up', jid: JID, user: 'Reactor', principal: 'root' },
    ]);
    expect(called[0]?.traceparent).toMatch(/^00-/);
    expect(fired).toEqual([
      `salt/run/${JID}/new`,
      `salt/run/${JID}/ret`,
      `salt/job/${JID}/ret/m_master`,
    ]);
    const due = scene();
    await due.calls.make(made(UP), { ...CAUSE, user: 'schedule' });
    expect(due.called[0]?.user).toBe('schedule');
  });

  test('of a function that there is not is refused', async () => {
    const { calls, called } = scene();
    const call = { ...UP, fun: 'no.such' };
    await expect(calls.make(made(call), CAUSE)).rejects.toThrow('function not available');
    expect(called).toEqual([]);
  });

  test('is not repeated because its result could not be told', async () => {
    const { calls, called, fired } = scene({ appendFails: 2 });
    await calls.make(made(UP), CAUSE);
    expect(called).toHaveLength(1);
    expect(fired).toContain(`salt/run/${JID}/ret`);
  });

  test('that goes on in another worker is told there', async () => {
    const run = async () => ({ value: null, success: true, moved: true as const });
    const { calls, fired } = scene({ run });
    await calls.make(made(UP), CAUSE);
    expect(fired).toEqual([`salt/run/${JID}/new`]);
  });

  test('that another worker goes on with is waited for, not repeated', async () => {
    const record = { jid: JID, kind: 'orchestrate', owner: 'b', ended: false, data: mapOf({}) };
    const { calls, called } = scene({ runs: [record as OwnedRunRecord, undefined] });
    await calls.make(made(UP, true), CAUSE);
    expect(called).toEqual([]);
  });

  test('that is in the job cache has ended, and is not repeated', async () => {
    const returns = mapOf({ m_master: mapOf({ return: true }) });
    const stored = (query: string): SaltValue => (query === 'get_jid' ? mapOf({ returns }) : null);
    const ended = scene({ stored });
    await ended.calls.make(made(UP, true), CAUSE);
    expect(ended.called).toEqual([]);
    const cut = scene();
    await cut.calls.make(made(UP, true), CAUSE);
    expect(cut.called).toHaveLength(1);
  });

  test('waits while too many run', async () => {
    const ends: (() => void)[] = [];
    const run = () =>
      new Promise<{ value: null; success: true }>((resolve) =>
        ends.push(() => resolve({ value: null, success: true })),
      );
    const { calls, called } = scene({ run }, 2);
    const making = [1, 2, 3].map(() => calls.make(made(UP), CAUSE));
    await expect.poll(() => called.length).toBe(2);
    expect([calls.running, calls.pending]).toEqual([2, 3]);
    ends.shift()?.();
    await expect.poll(() => called.length).toBe(3);
    for (const end of ends) end();
    await expect.poll(() => ends.length).toBe(2);
    for (const end of ends) end();
    await Promise.all(making);
    expect(calls.running).toBe(0);
  });
});
