import { type Asked, NOTHING_ASKED } from '@brine/schedule';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { describe, expect, test } from 'vitest';
import { OrchestrationWorld, type Plain, salted, told } from '../test/orchestration-world.ts';
import { limitedUser, sceneOf } from '../test/runner-master.ts';
import { bindArguments } from './arguments.ts';
import { RUNNERS } from './table.ts';

/*
 * What a user with limited rights may have done by functions that it may call: nothing that it may
 * not do itself.
 */

const runners = (...names: string[]): SaltMap => mapOf({ '@runner': names });

describe('a queue', () => {
  const put: SaltValue[] = [];
  const ask = async (_query: string, args: SaltMap): Promise<SaltValue> => {
    put.push(args.get('act') ?? null);
    return 'stored';
  };
  const scene = (...names: string[]) =>
    sceneOf([], { rights: [runners(...names)], more: { jobs: { ask } } });

  test.each<[string, string, SaltValue[], SaltMap]>([
    ['insert_runner', 'queue.insert_runner', ['error.error', ['x']], mapOf({ queue: 'q' })],
    ['a map', 'queue.insert', ['q', mapOf({ fun: 'error.error', args: [] })], mapOf({})],
    ['one of a list', 'queue.insert', ['q', [mapOf({ fun: 'error.error' })]], mapOf({})],
    ['a name', 'queue.insert', ['q', 'error.error'], mapOf({})],
  ])('takes no runner that its caller may not call: %s', async (_name, fun, args, kwargs) => {
    put.length = 0;
    const refused = await scene('queue.insert').run(fun, args, kwargs);
    expect(refused).toMatchObject({ success: false });
    expect(refused.value).toContain('runner.error.error is not allowed for user bob');
    expect(put).toEqual([]);
    expect(await scene('queue.insert', 'error').value(fun, args, kwargs)).toBe(true);
  });

  test('takes other items from everybody', async () => {
    const { memory, value } = scene('queue.insert');
    memory.local.knows = (_kind, fun) => fun === 'error.error';
    expect(await value('queue.insert', ['q', ['web1.example', mapOf({ k: 1 })]])).toBe(true);
  });
});

describe('the schedule', () => {
  const schedule = salted({
    on: { function: 'jobs.active', hours: 1 },
    off: { function: 'key.list', hours: 1 },
  }) as SaltMap;
  const made = (...names: string[]) => {
    const kept: { asked: Asked } = { asked: NOTHING_ASKED };
    const care = {
      zone: { offsetAt: () => 0 },
      state: async () => undefined,
      asked: async () => kept.asked,
      ask: async (change: (asked: Asked) => Asked) => void (kept.asked = change(kept.asked)),
    };
    const rights = [runners(...names)];
    const more = { schedule: care, now: () => Date.UTC(2026, 10, 28) } as never;
    return { kept, ...sceneOf([], { rights, configured: { schedule }, more }) };
  };
  const times = { current_time: '2026-11-28T10:00:00', new_time: '2026-11-28T11:00:00' };

  test.each<[string, Readonly<Record<string, string>>]>([
    ['schedule.run_job', { name: 'on' }],
    ['schedule.enable_job', { name: 'on' }],
    ['schedule.enable', {}],
    ['schedule.postpone_job', { name: 'on', ...times }],
  ])('%s makes nothing run that its caller may not call', async (fun, kwargs) => {
    const { kept, run } = made('schedule');
    const refused = await run(fun, [], mapOf(kwargs));
    expect(refused.value).toContain('runner.jobs.active is not allowed for user bob');
    expect(kept.asked).toEqual(NOTHING_ASKED);
    const free = made('schedule', 'jobs.active', 'key.list');
    expect(await free.run(fun, [], mapOf(kwargs))).toMatchObject({ success: true });
  });

  test('anything may be switched off by whoever may call that', async () => {
    const { kept, value } = made('schedule');
    await value('schedule.disable_job', ['on']);
    await value('schedule.disable');
    expect(kept.asked.enabled).toBe(false);
  });
});

test('events of Salt’s own tags are not fired', async () => {
  const { fired, run, value } = sceneOf([], { rights: ['@event'] });
  for (const tag of [
    ...['salt/job/20261128090000000000/ret/web1', 'salt/auth', 'salt/run/1/ret', 'minion_start'],
    ...[
      'salt/minion/web1/start',
      'syndic/a/b',
      '20261128090000000000',
      'salt/key',
      '__schedule_return',
    ],
  ]) {
    expect((await run('event.send', [tag])).value, tag).toContain('Salt has this tag');
  }
  expect(fired).toEqual([]);
  expect(await value('event.send', ['my/tag', mapOf({ a: 1 })])).toBe(true);
  await sceneOf([]).value('event.send', ['salt/job/x']);
});

describe('reactor.add', () => {
  const care = { isRunning: true, add: async () => mapOf({ status: true }) };
  const hostFiles = { roots: async () => new Map([['base', ['/srv/salt', '/srv/two']]]) };
  const reactor = salted([
    { 'a/*': ['/etc/salt/react/*.sls', 'salt://x.sls'] },
    { b: '/opt/b.sls' },
  ]);
  const { run } = sceneOf([], {
    rights: ['@reactor'],
    configured: { reactor },
    more: { reactor: care, hostFiles } as never,
  });
  test.each([
    ...['salt://y.sls', '/srv/salt/a.sls', '/srv/two/deep/*.sls', '/etc/salt/react/new.sls'],
    '/opt/c.sls',
  ])('takes %s', async (file) => {
    expect(await run('reactor.add', ['my/*', file])).toMatchObject({ success: true });
  });
  test.each([
    ...['/var/cache/salt/master/minions/web1/files/a.sls', '/srv/salt/../../tmp/a.sls', '/srv/*'],
    ...[
      '/etc/salt/react2/a.sls',
      '/srv/salt2/a.sls',
      'etc/salt/react/a.sls',
      '/tmp/{a,b}.sls',
      '/*',
    ],
  ])('does not take %s', async (file) => {
    const refused = await run('reactor.add', ['my/*', ['salt://y.sls', file]]);
    expect(refused.value).toContain('neither in file_roots');
  });
});

describe('an orchestration', () => {
  const steps: Plain = {
    a: { 'salt.runner': [{ name: 'error.error' }] },
    b: { 'salt.wheel': [{ name: 'key.list_all' }] },
    c: { 'salt.runner': [{ name: 'test.arg' }] },
    d: { 'salt.parallel_runners': [{ runners: { x: { name: 'error.error' } } }] },
  };
  const world = (...names: string[]): OrchestrationWorld => {
    const made = new OrchestrationWorld({ main: steps });
    const { call, access } = limitedUser([runners('state.orchestrate', ...names)]);
    Object.assign(made, { caller: call, access });
    return made;
  };
  const run = async (
    at: OrchestrationWorld,
    fun: string,
    kwargs: Readonly<Record<string, SaltValue>>,
  ) => {
    const found = RUNNERS.get(fun)!;
    return found.run(bindArguments(found, { args: [], kwargs: mapOf(kwargs) }), at.context());
  };

  test('runs those runners and wheels that its caller may call, and names it on record', async () => {
    const made = world('test.arg');
    const { value } = await run(made, 'state.orchestrate', { mods: 'main' });
    const results = told(value).map((line) => line.split(' ').slice(0, 2).join(' '));
    expect(results).toEqual(['a: false', 'b: false', 'c: true', 'd: false']);
    expect(made.ran).toEqual(['test.arg']);
    expect(made.audited.map(({ fun, outcome }) => `${fun} ${outcome}`)).toEqual([
      ...['error.error refused', 'key.list_all refused', 'test.arg done', 'error.error refused'],
    ]);
    for (const { principal, via } of made.audited) {
      expect(principal).toBe('bob');
      expect(via).toMatch(/^runner\.state\.orchestrate \d{20}$/);
    }
  });

  test.each<[string, Readonly<Record<string, SaltValue>>]>([
    [
      'state.orchestrate_single',
      { fun: 'test.nop', name: 'x', onlyif: [mapOf({ fun: 'cmd.run', args: ['id'] })] },
    ],
    ['state.orchestrate_single', { fun: 'test.nop', name: 'x', unless: 'id' }],
    [
      'state.orchestrate_high',
      { data: salted({ x: { test: ['nop', { name: 'x' }, { unless: ['id'] }] } }) },
    ],
  ])('%s of data of its caller calls no function of the master: %#', async (fun, kwargs) => {
    const calls: unknown[] = [];
    const made = world();
    const context = made.context();
    const { ownStates } = context.master!;
    const ask = ownStates.ask.bind(ownStates);
    Object.assign(ownStates, {
      ask: (asked: SaltMap, ...more: [never]) => {
        calls.push(asked.get('fun'));
        return ask(asked, ...more);
      },
    });
    const found = RUNNERS.get(fun)!;
    const given = bindArguments(found, { args: [], kwargs: mapOf(kwargs) });
    await found.run(given, context).catch(() => undefined);
    expect(calls).toEqual([]);
  });

  test('tells its events under a job id', async () => {
    const kwargs = { mods: 'main', orchestration_jid: '1/ret' };
    await expect(run(world(), 'state.orchestrate', kwargs)).rejects.toThrow('no job id');
  });
});

test('no secret of the configuration is shown', async () => {
  const configured = { gitfs_password: 'x', key_pass: 'sdb://vault/x', reactor: 'r' };
  const { value } = sceneOf([], {
    rights: ['@config'],
    configured,
    more: { shownOptions: mapOf({ gitfs_password: '***', reactor: 'r' }) },
  });
  expect(await value('config.get', ['gitfs_password'])).toBe('***');
  expect(await value('config.get', ['reactor'])).toBe('r');
});
