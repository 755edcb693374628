import { expect, test } from 'vitest';
import type { Possible } from './plan.ts';
import {
  DISKS,
  FAULT_KINDS,
  LINKS,
  makePlan,
  nameOf,
  picked,
  readPlan,
  VICTIMS,
  WIRES,
} from './plan.ts';

const ALL: Possible = {
  kinds: FAULT_KINDS,
  victims: VICTIMS,
  links: LINKS,
  disks: DISKS,
  wires: WIRES,
};
const NOTHING: Possible = { ...ALL, victims: [], links: [], disks: [], wires: [] };

test('the same seed makes the same plan, and another seed another one', () => {
  expect(makePlan(200, 7, ALL)).toEqual(makePlan(200, 7, ALL));
  expect(makePlan(200, 8, ALL).steps).not.toEqual(makePlan(200, 7, ALL).steps);
});

test('a seed keeps its plan: the first faults are known', () => {
  const kinds = ['kill', 'stop', 'cut', 'stall', 'refuse'] as const;
  expect(makePlan(4, 1, { ...ALL, kinds }).steps.map(({ fault }) => nameOf(fault))).toEqual([
    'stop runner-pool for 6804 ms',
    'cut all connections of request',
    'stall postgres for 2945 ms',
    'stop http-api for 973 ms',
  ]);
});

test('a shorter plan is the beginning of a longer one', () => {
  expect(makePlan(500, 3, ALL).steps.slice(0, 20)).toEqual(makePlan(20, 3, ALL).steps);
});

test('every kind, every victim and every link comes up, some in the midst of others', () => {
  const { steps } = makePlan(1_000, 1, ALL);
  const victims = steps.flatMap(({ fault }) => ('victim' in fault ? [fault.victim] : []));
  const links = steps.flatMap(({ fault }) => ('link' in fault ? [fault.link] : []));
  expect(new Set(steps.map(({ fault }) => fault.kind))).toEqual(new Set(FAULT_KINDS));
  expect(new Set(victims)).toEqual(new Set(VICTIMS));
  expect(new Set(links)).toEqual(new Set(LINKS));
  const together = steps.filter((step) => step.together).length;
  expect(together).toBeGreaterThan(100);
  expect(together).toBeLessThan(300);
  expect(steps[0]?.together).toBe(false);
});

test('only faults that are possible and asked for are drawn', () => {
  const plan = makePlan(100, 1, { ...NOTHING, kinds: ['kill', 'cut'], victims: ['nats'] });
  expect(new Set(plan.steps.map(({ fault }) => nameOf(fault)))).toEqual(new Set(['kill -9 nats']));
  expect(() => makePlan(1, 1, { ...NOTHING, kinds: ['cut'], victims: ['nats'] })).toThrow(
    RangeError,
  );
  expect(() => makePlan(0, 1, ALL)).toThrow(RangeError);
});

test('a plan that was written is read back; a file that is none is refused', () => {
  const plan = makePlan(30, 5, ALL);
  expect(readPlan(JSON.stringify(plan))).toEqual(plan);
  expect(() => readPlan('{"seed":1,"steps":[{"fault":{"kind":"flood"}}]}')).toThrow('no plan');
  expect(() => readPlan('{}')).toThrow('no plan');
});

test('a pick is a part of whatever there is', () => {
  expect([0, 499, 500, 999].map((pick) => picked(['a', 'b'], pick))).toEqual(['a', 'a', 'b', 'b']);
  expect(picked([], 5)).toBe(undefined);
});
