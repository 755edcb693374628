import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { describe, expect, test } from 'vitest';
import { readSchedule } from './read-schedule.ts';

type Plain = null | boolean | number | string | readonly Plain[] | { [key: string]: Plain };

const salted = (value: Plain): SaltValue => {
  if (Array.isArray(value)) return value.map(salted);
  if (typeof value !== 'object' || value === null) return value;
  return new Map(Object.entries(value).map(([key, item]) => [key, salted(item)]));
};

const read = (given: Plain) => {
  const map = salted(given);
  return readSchedule(isMap(map) ? map : (new Map() as SaltMap), 2026);
};

const FUN = { function: 'test.sleep' };

test('a job has the keys of Salt with the presets of Salt', () => {
  const { jobs, faults, enabled } = read({ one: { ...FUN, minutes: 1, seconds: '30' } });
  expect(faults).toEqual([]);
  expect(enabled).toBe(true);
  expect(jobs).toMatchObject([
    {
      name: 'one',
      fun: 'test.sleep',
      args: [],
      enabled: true,
      maxRunning: 1,
      timing: { kind: 'interval', seconds: 90 },
      runOnStart: true,
      missed: 'skip',
      returnJob: 'keep',
      returners: [],
      dryRun: false,
    },
  ]);
});

test('all else that a job may say is read', () => {
  const { jobs, faults } = read({
    splay: 5,
    one: {
      func: 'state.orchestrate',
      name: 'other',
      cron: '0 4 * * *',
      args: ['a', 1],
      kwargs: { test: true },
      splay: { start: 10, end: 20 },
      run_on_start: true,
      maxrunning: 3,
      missed: 'run',
      returner: ['a', 'b', 'a'],
      return_job: 'nocache',
      metadata: { team: 'x' },
      until: '2027-01-01',
      after: '2026-01-01',
      enabled: false,
      dry_run: true,
      range: { start: '8am', end: '5pm', invert: true },
    },
    two: { ...FUN, when: ['Monday 5pm', 'Tuesday 3pm'], jid_include: false, return_job: false },
    three: { ...FUN, once: '25.11.2026 10:00', once_fmt: '%d.%m.%Y %H:%M' },
  });
  expect(faults).toEqual([]);
  const [one, two, three] = jobs;
  expect(one).toMatchObject({
    name: 'other',
    fun: 'state.orchestrate',
    args: ['a', 1],
    splay: { from: 10, to: 20 },
    runOnStart: true,
    maxRunning: 3,
    missed: 'run',
    returners: ['a', 'b'],
    returnJob: 'nocache',
    enabled: false,
    dryRun: true,
  });
  expect(one?.kwargs).toEqual(new Map([['test', true]]));
  expect(Object.keys(one?.gates ?? {})).toEqual(['range', 'until', 'after']);
  expect(two).toMatchObject({ splay: { from: 1, to: 5 }, maxRunning: undefined, returnJob: 'no' });
  expect(two?.runOnStart).toBe(false);
  expect(three?.timing).toEqual({ kind: 'once', at: Date.UTC(2026, 10, 25, 10) });
});

describe('what is not in force is said, one line each', () => {
  test.each<[string, Plain, string]>([
    ['no map', 5, 'bad: it is no map'],
    ['no time', FUN, 'bad: it has no time: no seconds, when, cron or once'],
    ['two times', { ...FUN, when: '5pm', cron: '* * * * *' }, 'bad: when and cron do not'],
    ['a time and an interval', { ...FUN, once: 'x', hours: 1 }, 'bad: once and hours do not'],
    ['no function', { seconds: 5 }, 'bad.function: it names no function'],
    ['a name that is none', { fun: '../x', seconds: 5 }, 'bad.fun: it names no function'],
    ['seconds of 0', { ...FUN, seconds: 0 }, 'bad: its interval is shorter than a second'],
    ['a word for seconds', { ...FUN, seconds: 'many' }, 'bad.seconds: it must be a whole number'],
    ['a bad date', { ...FUN, when: 'soon' }, 'bad.when: Unknown string format: soon'],
    ['a number that YAML made of 17:30', { ...FUN, when: 1050 }, 'bad.when: a time is a text'],
    ['a bad cron', { ...FUN, cron: '* * *' }, 'bad.cron: it has no 5, 6 or 7 fields'],
    ['a bad format', { ...FUN, once: '1', once_fmt: '%Q' }, 'bad.once: %Q is not read'],
    ['a splay that ends before', { ...FUN, days: 1, splay: { start: 5, end: 1 } }, 'bad.splay: it'],
    [
      'a range that ends before',
      { ...FUN, days: 1, range: { start: '5pm', end: '8am' } },
      'bad.range: its end must be after its start',
    ],
    ['maxrunning of 0', { ...FUN, days: 1, maxrunning: 0 }, 'bad.maxrunning: it must be from 1'],
    ['an unknown missed', { ...FUN, days: 1, missed: 'twice' }, 'bad.missed: it must be skip or'],
    ['args that are no list', { ...FUN, days: 1, args: 'x' }, 'bad.args: it must be a list'],
  ])('%s', (_name, entry, text) => {
    const { jobs, faults } = read({ bad: entry, good: { ...FUN, days: 1 } });
    expect(jobs.map(({ name }) => name)).toEqual(['good']);
    expect(faults).toHaveLength(1);
    expect(`${faults[0]?.where}: ${faults[0]?.why}`.startsWith(text)).toBe(true);
    expect(faults[0]?.stops).toBe(true);
  });

  test('a key that Salt does not have stops nothing', () => {
    const { jobs, faults } = read({ one: { ...FUN, days: 1, job_args: [1], untill: '5pm' } });
    expect(jobs).toHaveLength(1);
    expect(faults).toEqual([
      { where: 'one.job_args', why: 'write args', stops: false },
      { where: 'one.untill', why: 'Salt has no such key for a job', stops: false },
    ]);
  });

  test('the second job of a name does not run', () => {
    const { jobs, faults } = read({ a: { ...FUN, days: 1, name: 'b' }, b: { ...FUN, days: 1 } });
    expect(jobs).toHaveLength(1);
    expect(faults).toMatchObject([{ where: 'b.name', stops: true }]);
  });

  test('globals are checked too', () => {
    const { faults } = read({ skip_function: 'x', splay: 'y', skip_during_range: 5 });
    expect(faults.map(({ where }) => where)).toEqual([
      'skip_function',
      'splay',
      'skip_during_range',
    ]);
  });
});

test('the fingerprint follows the entry', () => {
  const print = (entry: Plain): string | undefined => read({ a: entry }).jobs[0]?.fingerprint;
  expect(print({ ...FUN, days: 1 })).toBe(print({ ...FUN, days: 1 }));
  expect(print({ ...FUN, days: 1 })).not.toBe(print({ ...FUN, days: 2 }));
});
