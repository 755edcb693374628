import {
  type Asked,
  beginState,
  NOTHING_ASKED,
  readSchedule,
  type ScheduleState,
} from '@brine/schedule';
import { isMap, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { describe, expect, test } from 'vitest';
import { type Scene, sceneOf } from '../../test/runner-master.ts';
import type { ScheduleAdmin, ScheduledRun } from './schedule-admin.ts';

type Plain = null | boolean | number | string | readonly Plain[] | { [key: string]: Plain };

const salted = (value: Plain): SaltValue => {
  if (Array.isArray(value)) return value.map(salted);
  if (typeof value !== 'object' || value === null) return value;
  return new Map(Object.entries(value).map(([key, item]) => [key, salted(item)]));
};

const plain = (value: SaltValue): unknown => {
  if (Array.isArray(value)) return value.map(plain);
  if (!isMap(value)) return value;
  return Object.fromEntries(
    [...value].map(([key, item]) => [typeof key === 'string' ? key : '?', plain(item)]),
  );
};

const NOW = Date.UTC(2026, 10, 25, 10);

const SCHEDULE: Plain = {
  backup: { function: 'state.orchestrate', args: ['orch.backup'], cron: '0 4 * * *' },
  poll: { function: 'test.true', minutes: 5, run_on_start: false },
  off: { function: 'test.true', hours: 1, enabled: false },
  __mine: { function: 'test.true', hours: 1 },
  wrong: { function: 'test.true' },
};

/** A master whose schedule was begun a moment ago. */
function scheduled(
  runs: Readonly<Record<string, readonly ScheduledRun[]>> = {},
  zone = { offsetAt: () => 0 },
) {
  const given = salted(SCHEDULE) as SaltMap;
  const state: ScheduleState = beginState(readSchedule(given, 2026), undefined, NOW, {
    zone,
    loopMs: 60_000,
  });
  const kept: { asked: Asked } = { asked: NOTHING_ASKED };
  const admin: ScheduleAdmin = {
    zone,
    state: async () => state,
    asked: async () => kept.asked,
    ask: async (change) => {
      kept.asked = change(kept.asked);
    },
    runs: async (name) => runs[name] ?? [],
  };
  const scene: Scene = sceneOf([], {
    configured: { schedule: given, loop_interval: 60 },
    more: { schedule: admin, now: () => NOW },
  });
  const value = async (fun: string, kwargs: Plain = {}): Promise<unknown> =>
    plain(await scene.value(fun, [], salted(kwargs) as SaltMap));
  return { kept, value, scene };
}

describe('what is due is seen', () => {
  test('schedule.list shows the entries, and hides inner ones', async () => {
    const { value } = scheduled();
    const found = (await value('schedule.list')) as Record<string, Record<string, unknown>>;
    expect(Object.keys(found)).toEqual(['backup', 'poll', 'off', 'wrong']);
    expect(found['backup']).toEqual({
      function: 'state.orchestrate',
      args: ['orch.backup'],
      cron: '0 4 * * *',
      enabled: true,
    });
    expect(found['off']).toMatchObject({ enabled: false });
    const all = (await value('schedule.list', { show_all: true, show_disabled: false })) as object;
    expect(Object.keys(all)).toEqual(['backup', 'poll', '__mine']);
  });

  test('schedule.show_next_fire_time says when', async () => {
    const { value } = scheduled();
    const next = (name: string): Promise<unknown> =>
      value('schedule.show_next_fire_time', { name });
    expect(await next('backup')).toEqual({ result: true, next_fire_time: '2026-11-26T04:00:00' });
    expect(await next('poll')).toEqual({ result: true, next_fire_time: '2026-11-25T10:05:00' });
    expect(await next('off')).toEqual({ result: true, next_fire_time: null });
    expect(await next('none')).toEqual({ result: false, comment: 'Job none does not exist.' });
  });

  test('schedule.status shows runs, and what is not in force', async () => {
    const at = NOW - 60_000;
    const { value } = scheduled({
      poll: [
        { dueMs: NOW, jid: 'j2', worker: 'w', seenMs: NOW },
        { dueMs: at, jid: 'j1', worker: 'w', seenMs: at, endedMs: at + 1_000, success: true },
        { dueMs: at - 1, jid: '', worker: 'w', seenMs: at, endedMs: at, reason: 'maxrunning' },
      ],
    });
    const found = (await value('schedule.status')) as Record<string, Record<string, unknown>>;
    expect(found['poll']).toEqual({
      function: 'test.true',
      enabled: true,
      next_fire_time: '2026-11-25T10:05:00',
      runs: [
        { due: '2026-11-25T10:00:00', jid: 'j2', running: true },
        { due: '2026-11-25T09:59:00', jid: 'j1', ended: '2026-11-25T09:59:01', success: true },
        { due: '2026-11-25T09:58:59', skipped: 'maxrunning' },
      ],
    });
    expect(found['not_in_force']).toEqual({
      wrong: 'it has no time: no seconds, when, cron or once',
    });
    expect(Object.keys((await value('schedule.status', { name: 'off' })) as object)).toEqual([
      'off',
    ]);
  });

  test('schedule.job_status has the names of Salt', async () => {
    const { value } = scheduled();
    expect(await value('schedule.job_status', { name: 'poll', time_fmt: '%H:%M' })).toEqual({
      function: 'test.true',
      minutes: 5,
      run_on_start: false,
      enabled: true,
      name: 'poll',
      _seconds: 300,
      _next_fire_time: '10:05',
    });
    expect(await value('schedule.job_status', { name: 'none' })).toEqual({});
  });

  test('schedule.is_enabled answers for the schedule and for a job', async () => {
    const { value } = scheduled();
    expect(await value('schedule.is_enabled')).toBe(true);
    expect(await value('schedule.is_enabled', { name: 'off' })).toMatchObject({ enabled: false });
    expect(await value('schedule.is_enabled', { name: 'none' })).toEqual({});
  });
});

describe('what operators ask for is kept', () => {
  test('a job and the schedule are switched', async () => {
    const { value, kept } = scheduled();
    expect(await value('schedule.disable_job', { name: 'poll' })).toEqual({
      comment: 'Disabled Job poll in schedule.',
      result: true,
      changes: { poll: 'disabled' },
    });
    expect(kept.asked.jobs.get('poll')).toEqual({ enabled: false, runs: [], skips: [] });
    const next = { name: 'poll' };
    expect(await value('schedule.show_next_fire_time', next)).toMatchObject({
      next_fire_time: null,
    });
    await value('schedule.enable_job', { name: 'poll' });
    expect(kept.asked.jobs.get('poll')?.enabled).toBe(true);
    expect(await value('schedule.disable')).toMatchObject({ changes: { schedule: 'disabled' } });
    expect(await value('schedule.is_enabled')).toBe(false);
    expect(kept.asked.jobs.get('poll')?.enabled).toBe(true);
  });

  test('a job runs now, and one that is off only by force', async () => {
    const { value, kept, scene } = scheduled();
    expect(await value('schedule.run_job', { name: 'poll' })).toMatchObject({ result: true });
    expect(kept.asked.jobs.get('poll')?.runs).toEqual([NOW]);
    expect(await value('schedule.run_job', { name: 'off' })).toMatchObject({
      comment: 'Job off is disabled.',
    });
    expect(kept.asked.jobs.has('off')).toBe(false);
    expect((await scene.run('schedule.run_job', ['none'])).value).toEqual(
      mapOf({ comment: 'Job none does not exist.', result: false }),
    );
  });

  test('a time is left out or moved', async () => {
    const { value, kept } = scheduled();
    const current_time = '2026-11-26T04:00:00';
    const name = 'backup';
    await value('schedule.skip_job', { name, current_time });
    await value('schedule.postpone_job', { name, current_time, new_time: '2026-11-26T05:30:00' });
    expect(kept.asked.jobs.get('backup')).toEqual({
      skips: [Date.UTC(2026, 10, 26, 4), Date.UTC(2026, 10, 26, 4)],
      runs: [Date.UTC(2026, 10, 26, 5, 30)],
    });
    expect(await value('schedule.skip_job', { name, current_time: 'soon' })).toEqual({
      comment: 'Date string could not be parsed.',
      result: false,
    });
  });

  test('times are those of UTC where a call asks for it', async () => {
    const hour = 3_600_000;
    const { value, kept } = scheduled({}, { offsetAt: () => hour });
    const statusOf = async (more: { readonly utc?: boolean }) =>
      ((await value('schedule.status', { name: 'backup', ...more })) as { backup: object }).backup;
    expect(await statusOf({})).toMatchObject({ next_fire_time: '2026-11-26T04:00:00' });
    expect(await statusOf({ utc: true })).toMatchObject({ next_fire_time: '2026-11-26T03:00:00' });
    const times = { current_time: '2026-11-26T03:00:00', new_time: '2026-11-26T05:30:00' };
    await value('schedule.postpone_job', { name: 'backup', utc: true, ...times });
    expect(kept.asked.jobs.get('backup')).toEqual({
      skips: [Date.UTC(2026, 10, 26, 4)],
      runs: [Date.UTC(2026, 10, 26, 5, 30)],
    });
  });

  test('too many times of a job are refused', async () => {
    const { value, scene } = scheduled();
    for (let at = 0; at < 100; at += 1) await value('schedule.run_job', { name: 'poll' });
    const refused = await scene.run('schedule.run_job', ['poll']);
    expect(refused.success).toBe(false);
    expect(refused.value).toContain('more than 100 times of poll');
  });
});

test('functions that write a schedule are refused with the reason', async () => {
  const { scene } = scheduled();
  const { success, value } = await scene.run('schedule.add', ['x']);
  expect(success).toBe(false);
  expect(value).toContain('written in its configuration');
});
