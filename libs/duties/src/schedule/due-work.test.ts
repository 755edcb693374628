import type { QueuedWork } from '@brine/cluster-work';
import {
  type FunctionCall,
  type FunctionOutcome,
  type MasterPorts,
  MasterUnavailableError,
} from '@brine/master';
import { readSchedule } from '@brine/schedule';
import { isMap, mapOf, pack, type SaltMap, type SaltValue, textOf, unpackMap } from '@brine/wire';
import { describe, expect, test } from 'vitest';
import type { DueRecords } from './due-records.ts';
import { DueWork } from './due-work.ts';

type Plain = null | boolean | number | string | readonly Plain[] | { [key: string]: Plain };

const salted = (value: Plain): SaltValue => {
  if (Array.isArray(value)) return value.map(salted);
  if (typeof value !== 'object' || value === null) return value;
  return new Map(Object.entries(value).map(([key, item]) => [key, salted(item)]));
};

const DUE = Date.UTC(2026, 10, 25, 10);
const JID = '20261125100000000000';

/** A process with a job, and everything that came of it. */
function workerWith(
  entry: { [key: string]: Plain },
  more: {
    readonly outcome?: FunctionOutcome;
    readonly claim?: Awaited<ReturnType<DueRecords['claim']>>;
    readonly jobCache?: SaltValue;
    readonly kind?: 'runner' | 'wheel';
    /** What of a run fails at the first try: tags of events, and `ended`. */
    readonly fails?: Map<string, Error>;
  } = {},
) {
  const events: { readonly tag: string; readonly kind: string; readonly data: SaltMap }[] = [];
  const calls: FunctionCall[] = [];
  const ended: object[] = [];
  const returned: (readonly [string, SaltMap])[] = [];
  const counts: string[] = [];
  const troubles: string[] = [];
  const given = salted({ job: { function: 'test.arg', seconds: 60, ...entry } });
  const { outcome = { value: 'done', success: true }, claim } = more;
  const failOnce = (what: string): void => {
    const error = more.fails?.get(what);
    more.fails?.delete(what);
    if (error !== undefined) throw error;
  };
  const ports = {
    rules: { user: 'root', masterMinionId: 'm_master', runnerReturns: true },
    events: {
      append: async (event: { tag: string; kind: string; body: Uint8Array }) => {
        failOnce(event.tag);
        const data = unpackMap(Buffer.from(event.body));
        events.push({ tag: event.tag, kind: event.kind, data });
        return { duplicate: false };
      },
    },
    jobs: { ask: async () => more.jobCache ?? null },
    nextJid: () => JID,
    now: () => DUE,
  } as unknown as MasterPorts;
  const local = {
    knows: () => true,
    run: async (call: FunctionCall) => {
      calls.push(call);
      return outcome;
    },
  };
  const records = {
    claim: async () => claim ?? { kind: 'mine', jid: JID, again: false },
    alive: async () => true,
    ended: async (_name: string, _due: number, how: object) => {
      failOnce('ended');
      ended.push(how);
    },
  } as unknown as DueRecords;
  const due = new DueWork({
    schedule: readSchedule(given as SaltMap, 2026),
    records,
    processId: 'w',
    ports,
    local,
    runsOf: () => ({ find: async () => undefined }) as never,
    kindOf: async (fun) => (fun === 'test.gone' ? undefined : (more.kind ?? 'runner')),
    handToReturner: async (name, load) => void returned.push([name, load]),
    spans: { recordSpan: () => undefined },
    count: (what) => counts.push(what),
    onTrouble: (text) => troubles.push(text),
    isLeaving: () => false,
  });
  const work = (name = 'job', fun = 'test.arg', timeMs = DUE): Promise<string> => {
    const queued = { kind: 'due', id: `due/${name}/${timeMs}`, name, timeMs, deliveries: 1 };
    return due.work({ ...queued, data: mapOf({ fun }) } as QueuedWork);
  };
  return { work, events, calls, ended, returned, counts, troubles };
}

const tags = (events: readonly { readonly tag: string }[]): string[] =>
  events.map(({ tag }) => tag);

describe('a due job', () => {
  test('runs with its arguments between the events of a run, and is told as Salt tells it', async () => {
    const entry = { args: ['a', 1], kwargs: { x: true }, metadata: { team: 'ops' } };
    const { work, events, calls, ended, counts } = workerWith(entry);
    expect(await work()).toBe('over');
    expect(calls).toMatchObject([
      { kind: 'runner', fun: 'test.arg', jid: JID, user: 'root', args: ['a', 1] },
    ]);
    expect(tags(events)).toEqual([
      `salt/run/${JID}/new`,
      `salt/run/${JID}/ret`,
      `salt/job/${JID}/ret/m_master`,
      '__schedule_return',
    ]);
    const load = events.at(-1)!.data;
    expect(Object.fromEntries(load)).toMatchObject({
      cmd: '_return',
      id: 'm_master',
      fun: 'test.arg',
      schedule: 'job',
      jid: 'req',
      return: 'done',
      success: true,
      retcode: 0,
      pid: process.pid,
    });
    expect(load.get('fun_args')).toEqual(['a', 1, mapOf({ x: true })]);
    const metadata = load.get('metadata') as SaltMap;
    expect([...metadata.keys()]).toEqual(['team', '_TOS', '_TS', '_TT']);
    expect(textOf(metadata, '_TS')).toMatch(
      /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/,
    );
    expect(ended).toMatchObject([{ success: true, retcode: 0 }]);
    expect(counts).toEqual(['run']);
  });

  test('shows no arguments that are secrets', async () => {
    const { work, events, calls } = workerWith({
      args: ['sdb://a/b', 'pw-secret'],
      kwargs: { x: 'pw-secret' },
    });
    await work('job', 'sdb.set');
    expect(calls).toMatchObject([{ fun: 'sdb.set', args: ['sdb://a/b', 'pw-secret'] }]);
    expect(tags(events)).toContain('__schedule_return');
    for (const { data } of events) expect(pack(data).includes('pw-secret')).toBe(false);
  });

  test('that fails is told with the code of Salt', async () => {
    const outcome = { value: 'Exception occurred', success: false, retcode: 1 };
    const { work, events, counts } = workerWith({}, { outcome });
    await work();
    const load = events.at(-1)!.data;
    expect([load.get('success'), load.get('retcode')]).toEqual([false, 254]);
    expect(counts).toEqual(['failed']);
  });

  test('without return_job is not told, and is not kept', async () => {
    const { work, events } = workerWith({ return_job: false });
    await work();
    expect(tags(events)).toEqual([`salt/run/${JID}/new`, `salt/run/${JID}/ret`]);
  });

  test('with return_job nocache is told, and is not kept', async () => {
    const { work, events } = workerWith({ return_job: 'nocache' });
    await work();
    expect(tags(events).at(-1)).toBe('__schedule_return');
    expect(events).toHaveLength(3);
    expect(events.at(-1)!.data.get('jid')).toBe('nocache');
  });

  test('with returners is handed to each of them', async () => {
    const entry = { returner: ['a', 'b'], return_config: 'x', return_kwargs: { y: 1 } };
    const { work, events, returned } = workerWith(entry);
    await work();
    expect(returned.map(([name]) => name)).toEqual(['a', 'b']);
    const [, load] = returned[0]!;
    expect(Object.fromEntries(load)).toMatchObject({ jid: JID, ret_config: 'x', return: 'done' });
    expect(isMap(load.get('ret_kwargs'))).toBe(true);
    expect(events.at(-1)!.data.get('jid')).toBe(JID);
  });

  test('of a dry run does nothing', async () => {
    const { work, events, calls, ended } = workerWith({ dry_run: true });
    await work();
    expect([events, calls]).toEqual([[], []]);
    expect(ended).toHaveLength(1);
  });

  test('that was cut off runs again under its job id, unless its result is there', async () => {
    const claim = { kind: 'mine', jid: JID, again: true } as const;
    const cut = workerWith({}, { claim });
    await cut.work();
    expect(cut.calls).toHaveLength(1);
    const jobCache = mapOf({ returns: mapOf({ m_master: mapOf({ return: 1 }) }) });
    const done = workerWith({}, { claim, jobCache });
    await done.work();
    expect(done.calls).toEqual([]);
    expect(done.ended).toHaveLength(1);
  });

  test('runs once, also where what became of it is told while NATS is away', async () => {
    const away = new MasterUnavailableError('the stream of events is unreachable');
    const fails = new Map(
      [`salt/run/${JID}/ret`, '__schedule_return', 'ended'].map((what) => [what, away]),
    );
    const { work, events, calls, ended, counts, troubles } = workerWith({}, { fails });
    expect(await work()).toBe('over');
    expect(calls).toHaveLength(1);
    expect(tags(events)).toEqual([
      `salt/run/${JID}/new`,
      `salt/run/${JID}/ret`,
      `salt/job/${JID}/ret/m_master`,
      '__schedule_return',
    ]);
    expect([ended, counts, troubles]).toEqual([[expect.anything()], ['run'], []]);
  });

  test('leaves the queue when it has run, and the log says what could not be told', async () => {
    const broken = new Error('the event is too large');
    const fails = new Map(
      [`salt/run/${JID}/ret`, '__schedule_return', 'ended'].map((what) => [what, broken]),
    );
    const { work, calls, troubles } = workerWith({}, { fails });
    expect(await work()).toBe('over');
    expect(calls).toHaveLength(1);
    expect(troubles).toEqual([
      `the result of test.arg (${JID}) is lost`,
      '__schedule_return of job is lost',
      'the record of job is lost',
    ]);
  });

  test.each(['known', 'full'] as const)('that is %s leaves the queue', async (kind) => {
    const { work, calls, counts } = workerWith({}, { claim: { kind } });
    expect(await work()).toBe('over');
    expect(calls).toEqual([]);
    expect(counts).toEqual([kind === 'full' ? 'maxrunning' : 'known']);
  });

  test('that is not in the schedule here waits for a host that has it, ten minutes', async () => {
    const { work, counts, troubles } = workerWith({});
    expect(await work('other', 'test.arg', Date.now())).toBe('later');
    expect([counts, troubles]).toEqual([[], []]);
    expect(await work('other', 'test.arg', Date.now() - 11 * 60_000)).toBe('over');
    expect(counts).toEqual(['unknown']);
    expect(troubles).toHaveLength(1);
  });

  test('is worked on once in a worker, however often its message comes', async () => {
    const { work, calls } = workerWith({});
    expect(await Promise.all([work(), work()])).toEqual(['over', 'elsewhere']);
    expect(calls).toHaveLength(1);
  });

  test('of a wheel that was cut off runs again, unless its result is there', async () => {
    const claim = { kind: 'mine', jid: JID, again: true } as const;
    const jobCache = mapOf({ returns: mapOf({ m_master: mapOf({ return: 1 }) }) });
    const done = workerWith({}, { claim, jobCache, kind: 'wheel' });
    await done.work();
    expect(done.calls).toEqual([]);
  });

  test('may be a wheel function', async () => {
    const { work, calls, events } = workerWith({}, { kind: 'wheel' });
    await work();
    expect(calls).toMatchObject([{ kind: 'wheel' }]);
    expect(tags(events)).toContain(`salt/wheel/${JID}/ret`);
  });
});
