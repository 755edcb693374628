import type { SaltMap, SaltValue } from '@brine/wire';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { at, BERLIN, shown, UTC } from '../test/zones.ts';
import { beginState, type DueSettings, nextDue, type Reckoned, stepSchedule } from './due.ts';
import type { Schedule } from './job.ts';
import { readSchedule } from './read-schedule.ts';
import {
  type Asked,
  askedMap,
  type AskedOfJob,
  type JobState,
  readAsked,
  readState,
  type ScheduleState,
  stateMap,
} from './state.ts';

type Plain = null | boolean | number | string | readonly Plain[] | { [key: string]: Plain };

const salted = (value: Plain): SaltValue => {
  if (Array.isArray(value)) return value.map(salted);
  if (typeof value !== 'object' || value === null) return value;
  return new Map(Object.entries(value).map(([key, item]) => [key, salted(item)]));
};

const scheduleOf = (given: Plain): Schedule => {
  const schedule = readSchedule(salted(given) as SaltMap, 2026);
  expect(schedule.faults).toEqual([]);
  return schedule;
};

const jobOf = (entry: { [key: string]: Plain }): Schedule =>
  scheduleOf({ job: { function: 'test.true', ...entry } });

const stored = (state: ScheduleState): ScheduleState => readState(stateMap(state))!;

/** A process that looks at a schedule; a state that is another one goes through the bucket. */
class Looked {
  readonly schedule: Schedule;
  readonly settings: DueSettings;
  state: ScheduleState;
  readonly ran: string[] = [];
  readonly skipped: string[] = [];
  nowMs: number;

  constructor(schedule: Schedule, from: string, settings: Partial<DueSettings> = {}) {
    this.schedule = schedule;
    this.settings = { zone: UTC, loopMs: 1_000, reckoned: new WeakMap(), ...settings };
    this.nowMs = at(from);
    this.state = beginState(schedule, undefined, this.nowMs, this.settings);
    this.look();
  }

  look(): void {
    const step = stepSchedule(this.schedule, this.state, this.nowMs, this.settings);
    const isOther = step.due.length + step.skipped.length > 0;
    this.state = isOther ? stored(step.state) : step.state;
    for (const { dueMs, fun } of step.due) this.ran.push(`${shown(dueMs)} ${fun}`);
    for (const { dueMs, reason } of step.skipped) this.skipped.push(`${shown(dueMs)} ${reason}`);
  }

  /** Looks at each second until a time; gives the times at which something ran. */
  until(end: string, everyMs = 1_000): string[] {
    while (this.nowMs < at(end)) {
      this.nowMs += everyMs;
      this.look();
    }
    return this.ran.map((line) => line.split(' ')[0] ?? '');
  }

  /** Nothing looks for a while; then another process takes the schedule over. */
  away(until: string): void {
    this.nowMs = at(until);
    this.state = beginState(this.schedule, stored(this.state), this.nowMs, this.settings);
    this.look();
  }
}

describe('intervals', () => {
  test('begin with a run at the start and go on from it', () => {
    const looked = new Looked(jobOf({ seconds: 20 }), '2026-11-25T10:00:00');
    expect(looked.until('2026-11-25T10:01:00')).toEqual([
      '2026-11-25T10:00:00',
      '2026-11-25T10:00:20',
      '2026-11-25T10:00:40',
      '2026-11-25T10:01:00',
    ]);
  });

  test('without run_on_start the first run comes after the interval', () => {
    const schedule = jobOf({ minutes: 1, seconds: 30, run_on_start: false });
    const looked = new Looked(schedule, '2026-11-25T10:00:00');
    expect(looked.until('2026-11-25T10:03:00')).toEqual([
      '2026-11-25T10:01:30',
      '2026-11-25T10:03:00',
    ]);
  });

  test('late looks do not move the later times', () => {
    const schedule = jobOf({ seconds: 20, run_on_start: false });
    const looked = new Looked(schedule, '2026-11-25T10:00:00');
    expect(looked.until('2026-11-25T10:01:03', 7_000)).toEqual([
      '2026-11-25T10:00:20',
      '2026-11-25T10:00:40',
      '2026-11-25T10:01:00',
    ]);
  });

  test('out of its range a job waits for the range, and runs when it begins', () => {
    const schedule = jobOf({ hours: 1, range: { start: '8:30am', end: '10am' } });
    const looked = new Looked(schedule, '2026-11-25T06:00:00');
    // The run at the start heeds no range, as in Salt.
    expect(looked.until('2026-11-26T09:00:00', 60_000)).toEqual([
      '2026-11-25T06:00:00',
      '2026-11-25T08:30:00',
      '2026-11-25T09:30:00',
      '2026-11-26T08:30:00',
    ]);
  });

  test('an inverted range lets it run outside', () => {
    const range = { start: '8am', end: '10am', invert: true };
    const looked = new Looked(
      jobOf({ hours: 1, run_on_start: false, range }),
      '2026-11-25T06:30:00',
    );
    expect(looked.until('2026-11-25T11:30:00', 60_000)).toEqual([
      '2026-11-25T07:30:00',
      '2026-11-25T10:00:00',
      '2026-11-25T11:00:00',
    ]);
  });

  test('a span to skip moves the next time on, and run_after_skip_range adds one after it', () => {
    const skip = { start: '8am', end: '9am' };
    const entry = { minutes: 40, run_on_start: false, skip_during_range: skip };
    const plain = new Looked(jobOf(entry), '2026-11-25T07:00:00');
    expect(plain.until('2026-11-25T10:00:00', 20_000)).toEqual([
      '2026-11-25T07:40:00',
      '2026-11-25T09:40:00',
    ]);
    expect(plain.skipped).toEqual([
      '2026-11-25T08:20:00 in_skip_range',
      '2026-11-25T09:00:00 in_skip_range',
    ]);
    const after = new Looked(
      jobOf({ ...entry, run_after_skip_range: true }),
      '2026-11-25T07:00:00',
    );
    expect(after.until('2026-11-25T10:00:00', 20_000)).toEqual([
      '2026-11-25T07:40:00',
      '2026-11-25T09:00:01',
      '2026-11-25T09:40:01',
    ]);
  });
});

describe('dates', () => {
  test('when comes each day, each week or once, as its text says', () => {
    const schedule = scheduleOf({
      daily: { function: 'test.a', when: '5pm' },
      weekly: { function: 'test.b', when: ['Friday 8:00', 'Sunday 9:00'] },
      single: { function: 'test.c', when: '2026-11-26 12:00' },
    });
    const looked = new Looked(schedule, '2026-11-25T10:00:00');
    looked.until('2026-11-28T00:00:00', 30_000);
    expect(looked.ran).toEqual([
      '2026-11-25T17:00:00 test.a',
      '2026-11-26T12:00:00 test.c',
      '2026-11-26T17:00:00 test.a',
      '2026-11-27T08:00:00 test.b',
      '2026-11-27T17:00:00 test.a',
    ]);
  });

  test('once comes once, also when it was a moment ago at the start', () => {
    const schedule = jobOf({ once: '2026-11-25T10:00:00' });
    const settings = { loopMs: 60_000 };
    const looked = new Looked(schedule, '2026-11-25T10:00:30', settings);
    expect(looked.until('2026-11-25T10:05:00')).toEqual(['2026-11-25T10:00:00']);
    const late = new Looked(schedule, '2026-11-25T10:01:30', settings);
    expect(late.until('2026-11-25T10:05:00')).toEqual([]);
  });

  test('until and after bound it', () => {
    const entry = { cron: '0 * * * *', after: '2026-11-25 11:30', until: '2026-11-25 14:00' };
    const looked = new Looked(jobOf(entry), '2026-11-25T10:00:00');
    expect(looked.until('2026-11-25T16:00:00', 60_000)).toEqual([
      '2026-11-25T12:00:00',
      '2026-11-25T13:00:00',
    ]);
    expect(looked.skipped).toEqual([
      '2026-11-25T11:00:00 after_not_passed',
      '2026-11-25T14:00:00 until_passed',
      '2026-11-25T15:00:00 until_passed',
      '2026-11-25T16:00:00 until_passed',
    ]);
  });

  test('a left out time is left out, and no other', () => {
    const skip_explicit = [{ time: '2026-11-25T12:00:00', time_fmt: '%Y-%m-%dT%H:%M:%S' }];
    const run_explicit = [{ time: '2026-11-25T12:30:00' }];
    const looked = new Looked(
      jobOf({ cron: '0 * * * *', skip_explicit, run_explicit }),
      '2026-11-25T10:30:00',
    );
    expect(looked.until('2026-11-25T13:00:00', 60_000)).toEqual([
      '2026-11-25T11:00:00',
      '2026-11-25T12:30:00',
      '2026-11-25T13:00:00',
    ]);
  });

  test('skip_function runs in place of what is skipped', () => {
    const schedule = scheduleOf({
      skip_function: 'test.instead',
      job: { function: 'test.job', when: '8am', skip_during_range: { start: '7am', end: '9am' } },
    });
    const looked = new Looked(schedule, '2026-11-25T06:00:00');
    looked.until('2026-11-25T10:00:00', 60_000);
    expect(looked.ran).toEqual(['2026-11-25T08:00:00 test.instead']);
  });

  test('skip_function runs in place of an interval outside its range, and not inside', () => {
    const job = { function: 'test.job', hours: 1, run_on_start: false };
    const schedule = scheduleOf({
      skip_function: 'test.instead',
      job: { ...job, range: { start: '8am', end: '9am' } },
      inverted: { ...job, range: { start: '8am', end: '9am', invert: true } },
    });
    const looked = new Looked(schedule, '2026-11-25T06:30:00');
    looked.until('2026-11-25T10:00:00', 60_000);
    expect(looked.ran).toEqual([
      '2026-11-25T07:30:00 test.instead',
      '2026-11-25T07:30:00 test.job',
      '2026-11-25T08:30:00 test.job',
      '2026-11-25T09:00:00 test.job',
      '2026-11-25T09:30:00 test.instead',
      '2026-11-25T10:00:00 test.job',
    ]);
  });
});

describe('clocks that change', () => {
  const runs = (entry: { [key: string]: Plain }, from: string, to: string): string[] => {
    const looked = new Looked(jobOf(entry), from, { zone: BERLIN });
    return looked.until(to, 60_000);
  };

  test('a time that is left out comes right after the gap', () => {
    expect(runs({ cron: '30 2 * * *' }, '2026-03-28T12:00:00', '2026-03-30T12:00:00')).toEqual([
      '2026-03-29T01:00:00',
      '2026-03-30T00:30:00',
    ]);
  });

  test('a time that comes twice runs once', () => {
    const expected = ['2026-10-25T00:30:00', '2026-10-26T01:30:00'];
    const span = ['2026-10-24T12:00:00', '2026-10-26T12:00:00'] as const;
    expect(runs({ cron: '30 2 * * *' }, ...span)).toEqual(expected);
    expect(runs({ when: '2:30' }, ...span)).toEqual(expected);
  });

  test('a schedule that begins in the hour that comes twice is silent until its end', () => {
    expect(runs({ cron: '*/20 * * * *' }, '2026-10-25T01:10:00', '2026-10-25T02:30:00')).toEqual([
      '2026-10-25T02:00:00',
      '2026-10-25T02:20:00',
    ]);
  });

  test('intervals are of real time', () => {
    const entry = { hours: 1, run_on_start: false };
    expect(runs(entry, '2026-10-24T23:30:00', '2026-10-25T03:00:00')).toEqual([
      '2026-10-25T00:30:00',
      '2026-10-25T01:30:00',
      '2026-10-25T02:30:00',
    ]);
  });
});

describe('a schedule that was not looked after', () => {
  test('for a moment misses nothing and runs nothing twice', () => {
    const schedule = scheduleOf({
      a: { function: 'test.a', cron: '* * * * *' },
      b: { function: 'test.b', seconds: 30 },
    });
    const looked = new Looked(schedule, '2026-11-25T10:00:00');
    looked.until('2026-11-25T10:00:55');
    looked.away('2026-11-25T10:01:10');
    expect(looked.ran).toEqual([
      '2026-11-25T10:00:00 test.b',
      '2026-11-25T10:00:30 test.b',
      '2026-11-25T10:01:00 test.a',
      '2026-11-25T10:01:00 test.b',
    ]);
  });

  test('for less than a minute does not start, also where it was saved 20 s before', () => {
    const looked = new Looked(jobOf({ hours: 8 }), '2026-11-25T10:00:00');
    looked.away('2026-11-25T10:01:19');
    expect(looked.ran).toEqual(['2026-11-25T10:00:00 test.true']);
    looked.away('2026-11-25T10:02:40');
    expect(looked.ran).toHaveLength(2);
  });

  test('for long starts again: dates are missed, intervals run at once', () => {
    const schedule = scheduleOf({
      cron: { function: 'test.cron', cron: '0 * * * *' },
      when: { function: 'test.when', when: '11am' },
      once: { function: 'test.once', once: '2026-11-25T11:00:00' },
      interval: { function: 'test.interval', hours: 8 },
      quiet: { function: 'test.quiet', hours: 1, run_on_start: false },
    });
    const looked = new Looked(schedule, '2026-11-25T10:00:00');
    looked.away('2026-11-25T13:30:00');
    expect(looked.ran).toEqual([
      '2026-11-25T10:00:00 test.interval',
      '2026-11-25T13:30:00 test.interval',
    ]);
    expect(looked.skipped.map((line) => line.split(' ')[1])).toEqual([
      'missed',
      'missed',
      'missed',
    ]);
    expect(looked.until('2026-11-25T14:30:00', 60_000).slice(2)).toEqual([
      '2026-11-25T14:00:00',
      '2026-11-25T14:30:00',
    ]);
  });

  test('for long makes one run of what was missed where the job says so', () => {
    const schedule = scheduleOf({
      cron: { function: 'test.cron', cron: '*/10 * * * *', missed: 'run' },
      once: { function: 'test.once', once: '2026-11-25T11:00:00', missed: 'run' },
      quiet: { function: 'test.quiet', hours: 1, run_on_start: false, missed: 'run' },
    });
    const looked = new Looked(schedule, '2026-11-25T10:05:00');
    looked.away('2026-11-25T13:34:00');
    expect(looked.ran).toEqual([
      '2026-11-25T10:10:00 test.cron',
      '2026-11-25T11:00:00 test.once',
      '2026-11-25T11:05:00 test.quiet',
    ]);
    looked.until('2026-11-25T13:50:00', 10_000);
    expect(looked.ran.slice(3)).toEqual([
      '2026-11-25T13:40:00 test.cron',
      '2026-11-25T13:50:00 test.cron',
    ]);
  });

  test('begins a job again that was changed', () => {
    const looked = new Looked(jobOf({ hours: 1 }), '2026-11-25T10:00:00');
    const nowMs = at('2026-11-25T10:00:20');
    const begun = beginState(jobOf({ hours: 2 }), looked.state, nowMs, looked.settings);
    expect(begun.jobs.get('job')).toMatchObject({ startAt: nowMs, from: nowMs });
  });
});

describe('what operators ask for', () => {
  const asked = (ofJob: Partial<AskedOfJob>, enabled?: boolean): Asked =>
    readAsked(
      askedMap({
        ...(enabled === undefined ? {} : { enabled }),
        jobs: new Map([['job', { runs: [], skips: [], ...ofJob }]]),
      }),
    );
  const looks = (of: Asked, entry: { [key: string]: Plain } = { cron: '0 * * * *' }): Looked =>
    new Looked(jobOf(entry), '2026-11-25T10:30:00', { asked: of });

  test('a job runs at a time besides, and leaves one out', () => {
    const runs = [at('2026-11-25T11:10:00'), at('2026-11-25T10:50:00')];
    const looked = looks(asked({ runs, skips: [at('2026-11-25T12:00:00')] }));
    expect(looked.until('2026-11-25T13:00:00', 10_000)).toEqual([
      '2026-11-25T10:50:00',
      '2026-11-25T11:00:00',
      '2026-11-25T11:10:00',
      '2026-11-25T13:00:00',
    ]);
  });

  test('jobs and the schedule are switched off and on', () => {
    expect(looks(asked({ enabled: false })).until('2026-11-25T12:00:00', 60_000)).toEqual([]);
    expect(looks(asked({}, false)).until('2026-11-25T12:00:00', 60_000)).toEqual([]);
    const on = looks(asked({ enabled: true }), { cron: '0 * * * *', enabled: false });
    expect(on.until('2026-11-25T12:00:00', 60_000)).toHaveLength(2);
  });
});

test('what was reckoned once is remembered, and nothing differs', () => {
  const schedule = jobOf({ cron: '*/7 * * * *' });
  const remembered = new Looked(schedule, '2026-11-25T10:00:00');
  const forgetful = new WeakMap<JobState, Reckoned>();
  forgetful.get = () => undefined;
  const plain = new Looked(schedule, '2026-11-25T10:00:00', { reckoned: forgetful });
  const end = '2026-11-25T12:00:00';
  expect(remembered.until(end, 5_000)).toEqual(plain.until(end, 5_000));
});

test('a disabled job and a disabled schedule run nothing and say so', () => {
  const off = new Looked(jobOf({ seconds: 30, enabled: false }), '2026-11-25T10:00:00');
  expect(off.until('2026-11-25T10:01:00')).toEqual([]);
  expect(off.skipped.map((line) => line.split(' ')[1])).toEqual([
    'disabled',
    'disabled',
    'disabled',
  ]);
  const all = new Looked(
    scheduleOf({ enabled: false, job: { function: 'test.true', seconds: 30 } }),
    '2026-11-25T10:00:00',
  );
  expect(all.until('2026-11-25T10:01:00')).toEqual([]);
});

test('a splay lies within its bounds, and every worker draws the same', () => {
  const schedule = jobOf({ cron: '0 * * * *', splay: { start: 10, end: 20 } });
  const first = new Looked(schedule, '2026-11-25T09:30:00');
  const second = new Looked(schedule, '2026-11-25T09:30:00');
  const ran = first.until('2026-11-25T14:30:00', 5_000);
  expect(second.until('2026-11-25T14:30:00', 5_000)).toEqual(ran);
  expect(ran).toHaveLength(5);
  for (const time of ran) {
    const seconds = (at(time) / 1000) % 3600;
    expect(seconds).toBeGreaterThanOrEqual(10);
    expect(seconds).toBeLessThanOrEqual(20);
  }
  expect(new Set(ran.map((time) => time.slice(-2))).size).toBeGreaterThan(1);
});

test('the next time is told before it comes, and moved on by a range', () => {
  const [job] = jobOf({ hours: 1, run_on_start: false, range: { start: '8am', end: '9am' } }).jobs;
  const looked = new Looked(jobOf({ hours: 1, run_on_start: false }), '2026-11-25T10:00:00');
  const state = { ...looked.state.jobs.get('job')!, fingerprint: job!.fingerprint };
  const next = nextDue(job!, state, looked.nowMs, looked.settings);
  expect(shown(next)).toBe('2026-11-26T08:00:00');
});

/** Jobs of all kinds, with times that come often. */
const entries = fc.oneof(
  fc.record({ seconds: fc.integer({ min: 1, max: 90 }), run_on_start: fc.boolean() }),
  fc.constantFrom({ cron: '* * * * *' }, { cron: '*/2 * * * *' }, { cron: '* * * * * */7' }),
  fc.constantFrom({ when: '10:03' }, { when: ['10:01', '10:04', '10:04'] }),
  fc.constant({ once: '2026-11-25T10:02:30' }),
  fc.constantFrom(
    { seconds: 25, range: { start: '10:01', end: '10:03' } },
    { seconds: 20, skip_during_range: { start: '10:01', end: '10:03' } },
    { cron: '* * * * *', splay: 30 },
  ),
);

test('however workers take turns, each due time is told once and none is lost', () => {
  fc.assert(
    fc.property(entries, fc.array(fc.integer({ min: 200, max: 40_000 })), (entry, gaps) => {
      const schedule = jobOf(entry);
      const steady = new Looked(schedule, '2026-11-25T10:00:00');
      const expected = steady.until('2026-11-25T10:10:00', 1_000);
      const looked = new Looked(schedule, '2026-11-25T10:00:00');
      for (const gap of gaps) {
        const next = Math.min(looked.nowMs + gap, at('2026-11-25T10:10:00'));
        // Another process goes on from the stored state.
        looked.away(new Date(next).toISOString().replace('Z', ''));
      }
      expect(looked.until('2026-11-25T10:10:00', 1_000)).toEqual(expected);
    }),
    { numRuns: 60 },
  );
});
