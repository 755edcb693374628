import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { expect, test } from 'vitest';
import { back, JID, sceneOf } from '../../test/runner-master.ts';
import { timeOf } from './jobs.ts';

const LOAD = mapOf({
  fun: 'test.ping',
  arg: [],
  tgt: 'web*',
  tgt_type: 'glob',
  user: 'root',
  Minions: ['web1', 'web2', 'dead1'],
});
const RETURNS = mapOf({
  web1: mapOf({ return: true, retcode: 0, success: true, out: 'highstate' }),
  web2: mapOf({ return: '', retcode: 0, success: true }),
});

function scene(more: Parameters<typeof sceneOf>[1] = {}) {
  const asked: [string, SaltMap][] = [];
  const made = sceneOf([], {
    jobCache: (query, args): SaltValue => {
      asked.push([query, args]);
      if (query === 'get_load') return args.get('jid') === JID ? LOAD : null;
      if (query === 'get_jid') {
        return mapOf({ returns: args.get('jid') === JID ? RETURNS : mapOf({}), next: null });
      }
      if (query === 'list_jobs') {
        const job = mapOf({ Function: 'test.ping', StartTime: 'then' });
        return mapOf({ jobs: mapOf({ [JID]: job }), next: null });
      }
      if (query === 'end_time') return Date.UTC(2026, 10, 26, 3, 0, 7, 250);
      return query === 'durable' ? [] : null;
    },
    ...more,
  });
  return { ...made, asked };
}

test('a lookup shows returns by the outputter that the first one names', async () => {
  const { value } = scene();
  expect(await value('jobs.lookup_jid', [JID])).toEqual(
    mapOf({ data: mapOf({ web1: true, web2: '' }), outputter: 'highstate' }),
  );
  // The outputter is that of the job, also where no return is shown.
  expect(await value('jobs.lookup_jid', [JID], mapOf({ returned: false, missing: 1 }))).toEqual(
    mapOf({ data: mapOf({ dead1: 'Minion did not return' }), outputter: 'highstate' }),
  );
  expect(await value('jobs.lookup_jid', ['20200101000000000000'])).toEqual(mapOf({}));
});

test('display_progress tells what is done', async () => {
  const { value, fired } = scene();
  await value('jobs.lookup_jid', [JID], mapOf({ display_progress: true }));
  const tag = `salt/run/${JID}/progress`;
  expect(fired).toEqual(
    ['Querying returner local_cache', 'web1', 'web2'].map((message) => [tag, mapOf({ message })]),
  );
});

test('another job cache is refused by name', async () => {
  const { run, value, asked } = scene();
  for (const fun of ['lookup_jid', 'list_job', 'print_job', 'exit_success']) {
    const outcome = await run(`jobs.${fun}`, [JID], mapOf({ ext_source: 'redis' }));
    expect(outcome).toMatchObject({ success: false, retcode: 1 });
    expect(outcome.value).toContain('ext_source=redis is not in force');
  }
  expect(asked).toEqual([]);
  await value('jobs.list_job', [JID], mapOf({ ext_source: 'local_cache' }));
});

test('the end of a job is shown where job_cache_store_endtime is on', async () => {
  const off = (await scene().value('jobs.list_job', [JID])) as SaltMap;
  expect(off.has('EndTime')).toBe(false);
  const { value } = scene({ configured: { job_cache_store_endtime: true } });
  const shown = (await value('jobs.list_job', [JID])) as SaltMap;
  expect(shown.get('EndTime')).toBe('2026, Nov 26 03:00:07.250000');
  const printed = (await value('jobs.print_job', [JID])) as SaltMap;
  expect([...(printed.get(JID) as SaltMap).keys()].slice(-2)).toEqual(['Result', 'EndTime']);
});

test('a search for metadata that are no dictionary finds nothing', async () => {
  const { value, asked } = scene();
  expect(await value('jobs.list_jobs', [], mapOf({ search_metadata: 'ticket' }))).toEqual(
    mapOf({}),
  );
  expect(await value('jobs.last_run', [], mapOf({ metadata: 'ticket' }))).toBe(false);
  expect(asked).toEqual([]);
});

test('a time that can not be read fails in the words of dateutil', async () => {
  const { run } = scene();
  for (const name of ['start_time', 'end_time']) {
    const outcome = await run('jobs.list_jobs', [], mapOf({ [name]: 'whenever' }));
    expect(outcome).toEqual({
      value:
        'Exception occurred in runner jobs.list_jobs: ' +
        'dateutil.parser._parser.ParserError: Unknown string format: whenever',
      success: false,
      retcode: 1,
    });
  }
  const { value } = await run('jobs.list_jobs', [], mapOf({ end_time: '2015-02-30' }));
  expect(value).toContain('ParserError: day is out of range for month: 2015-02-30');
});

test.each([
  [2015, 'int'],
  [3.5, 'float'],
  [true, 'bool'],
  [['2015'], 'list'],
  [mapOf({ a: 1 }), 'dict'],
])('%j is no text of a time', async (start_time, type) => {
  const { run } = scene();
  const outcome = await run('jobs.list_jobs', [], mapOf({ start_time }));
  expect(outcome.success).toBe(true);
  expect(outcome.value).toContain(
    `\nPassed invalid arguments: Parser must be a string or character stream, not ${type}\n`,
  );
});

test('a time is read for jobs that meet the conditions before it, so that none is no error', async () => {
  const none = scene({ jobCache: () => mapOf({ jobs: mapOf({}), next: null }) });
  const kwargs = mapOf({ search_function: 'no.such', start_time: '2015', end_time: 'whenever' });
  expect(await none.value('jobs.list_jobs', [], kwargs)).toEqual(mapOf({}));
});

test('an empty condition is none', async () => {
  const { value, asked } = scene();
  const empty = { start_time: '', end_time: null, search_function: [], search_target: '' };
  await value('jobs.list_jobs', [], mapOf(empty));
  const search = asked[0]?.[1] ?? new Map<SaltValue, SaltValue>();
  for (const name of ['startTime', 'endTime', 'searchFunction', 'searchTarget']) {
    expect(search.get(name)).toBeUndefined();
  }
});

test('a date without quotes is a number to the parser of arguments', async () => {
  const { value, asked } = scene();
  await value('jobs.list_jobs', [], mapOf({ start_time: 20_150_316, search_function: 'test.*' }));
  expect(Object.fromEntries(asked[0]?.[1] ?? [])).toMatchObject({
    startTime: Date.UTC(2015, 2, 16),
    searchFunction: ['test.*'],
  });
});

test('times are read in the forms that people write', () => {
  const at = (text: string) => new Date(timeOf(text) ?? 0).toISOString();
  expect(at('2015, Mar 16 19:00')).toBe('2015-03-16T19:00:00.000Z');
  expect(at('2015-03-16')).toBe('2015-03-16T00:00:00.000Z');
  expect(at('2015-03-16T19:00:05')).toBe('2015-03-16T19:00:05.000Z');
  expect(at('2015-03-16 19:00+02:00')).toBe('2015-03-16T17:00:00.000Z');
  expect(at('20150316T190005')).toBe('2015-03-16T19:00:05.000Z');
  expect(at('7:05').slice(10)).toBe('T07:05:00.000Z');
  expect(timeOf('no time')).toBeUndefined();
});

test('the newest jobs are counted as they are asked for', async () => {
  const { run, value, asked } = scene();
  const job = mapOf({ Function: 'test.ping', JID, StartTime: 'then' });
  expect(await value('jobs.list_jobs_filter', [5])).toEqual([job]);
  expect(asked[0]?.[1].get('leaveOutHidden')).toBe(true);
  expect(await value('jobs.list_jobs_filter', [5], mapOf({ outputter: 'json' }))).toEqual(
    mapOf({ data: [job], outputter: 'json' }),
  );
  expect(await value('jobs.list_jobs_filter', [0])).toEqual([]);
  expect(await value('jobs.list_jobs_filter', [true])).toEqual([job]);
  expect((await run('jobs.list_jobs_filter', ['many'])).value).toContain(
    "Passed invalid arguments: '>' not supported between instances of 'int' and 'str'\n",
  );
});

test('exit_success counts what is true for Python', async () => {
  const { value } = scene();
  expect(await value('jobs.exit_success', [JID])).toEqual(
    mapOf({ web1: true, web2: false, dead1: false }),
  );
});

test('jobs that run are listed with the minions that run them and that have returned', async () => {
  const running = [mapOf({ jid: JID, fun: 'cmd.run', arg: ['x'], tgt: '*', pid: 7 })];
  const minions = () => [back('web1', running), back('web2', running), back('db1', 'no list')];
  const { value, fired } = scene({ minions });
  const shown = (await value('jobs.active', [true])) as SaltMap;
  expect(Object.fromEntries(shown.get(JID) as SaltMap)).toMatchObject({
    Function: 'cmd.run',
    Running: [mapOf({ web1: 7 }), mapOf({ web2: 7 })],
    Returned: ['web1', 'web2'],
  });
  expect(fired.map(([, data]) => data.get('message'))).toEqual([
    "Attempting to contact minions: ['web1', 'web2', 'db1']",
    ...['web1', 'web2', 'db1'].map((id) => `Received reply from minion ${id}`),
  ]);
});

test('jobs.master lists the runners of all workers, without secrets', async () => {
  const call = { kind: 'runner', jid: JID, user: 'root', principal: 'root' } as const;
  const calls = [
    { ...call, fun: 'test.sleep', args: [9], kwargs: mapOf({ k: 1 }), owner: '4711-abcd' },
    { ...call, fun: 'auth.mk_token', args: ['password'], kwargs: mapOf({}), owner: '' },
  ];
  const { value } = scene({ more: { runs: { calls: async () => calls } as never } });
  expect(await value('jobs.master')).toEqual([
    mapOf({
      fun: 'runner.test.sleep',
      jid: JID,
      user: 'root',
      fun_args: [9, mapOf({ k: 1 })],
      pid: 4711,
    }),
    mapOf({ fun: 'runner.auth.mk_token', jid: JID, user: 'root', fun_args: [], pid: null }),
  ]);
});
