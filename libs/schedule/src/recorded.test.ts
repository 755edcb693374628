import { readFileSync } from 'node:fs';
import type { SaltMap, SaltValue } from '@brine/wire';
import { describe, expect, test } from 'vitest';
import { at, shown, UTC } from '../test/zones.ts';
import { readDateText, timeOn } from './date-text.ts';
import { beginState, stepSchedule } from './due.ts';
import { readSchedule } from './read-schedule.ts';

type Plain = null | boolean | number | string | readonly Plain[] | { [key: string]: Plain };

interface Recorded {
  readonly cases: readonly {
    readonly name: string;
    readonly entry: Plain;
    readonly start: string;
    readonly every: number;
    readonly lasts: number;
    readonly ran: readonly string[];
  }[];
  readonly dates: readonly (readonly [text: string, time: string])[];
}

const FILE = new URL('../../../test/fixtures/schedule/recorded.json', import.meta.url);
const RECORDED = JSON.parse(readFileSync(FILE, 'utf8')) as Recorded;

const salted = (value: Plain): SaltValue => {
  if (Array.isArray(value)) return value.map(salted);
  if (typeof value !== 'object' || value === null) return value;
  return new Map(Object.entries(value).map(([key, item]) => [key, salted(item)]));
};

/** Python writes microseconds. */
const moment = (text: string): number => at(text.replace(/(\.\d{3})\d*$/, '$1'));

/** The looks at which our schedule tells the job to run. */
function looksThatRun({ entry, start, every, lasts }: Recorded['cases'][number]): number[] {
  const schedule = readSchedule(salted({ job: entry }) as SaltMap, 2026);
  expect(schedule.faults).toEqual([]);
  const settings = { zone: UTC, loopMs: every * 1000, reckoned: new WeakMap() };
  const ran: number[] = [];
  let nowMs = moment(start);
  let state = beginState(schedule, undefined, nowMs, settings);
  for (let look = 0; look <= Math.floor(lasts / every); look += 1) {
    const step = stepSchedule(schedule, state, nowMs, settings);
    ran.push(...step.due.map(() => nowMs));
    state = step.state;
    nowMs += every * 1000;
  }
  return ran;
}

describe('jobs run when they run with Salt', () => {
  test.each(RECORDED.cases.map((one) => [one.name, one] as const))('%s', (_name, one) => {
    expect(looksThatRun(one).map(shown)).toEqual(one.ran.map((text) => shown(moment(text))));
  });
});

describe('texts mean what they mean to dateutil', () => {
  test.each(RECORDED.dates)('%s', (text, time) => {
    const today = at('2026-11-25T00:00:00');
    expect(shown(timeOn(readDateText(text, 2026), today))).toBe(shown(moment(time)));
  });
});
