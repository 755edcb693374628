import { expect, test } from 'vitest';
import { endedOn } from './node-release.ts';

test('a line of Node has fixes through its last day', () => {
  expect(endedOn('20.20.2', Date.UTC(2026, 3, 30, 23, 59))).toBeUndefined();
  expect(endedOn('20.20.2', Date.UTC(2026, 4, 1))).toBe('2026-04-30');
  expect(endedOn('24.21.0', Date.UTC(2026, 10, 25))).toBeUndefined();
  expect(endedOn('25.1.0', Date.UTC(2026, 10, 25))).toBe('2026-06-01');
});

test('of a line that is not known there is nothing to say', () => {
  expect(endedOn('99.0.0', Date.UTC(2090, 0))).toBeUndefined();
  expect(endedOn('', 0)).toBeUndefined();
});

test('the Node that runs this has a last day', () => {
  expect(endedOn(process.versions.node, Date.UTC(2090, 0))).toMatch(/^20\d\d-\d\d-\d\d$/);
});
