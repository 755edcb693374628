import type { EventShown } from '@brine/api';
import { expect, test } from 'vitest';
import { eventSummary, returnedAs } from './event-summary.ts';

const EVENT: EventShown = {
  position: '1-1_0a1b2c3d',
  tag: 'salt/job/1/ret/web',
  at: '2026-11-30T09:15:00.250000Z',
  kind: 'ret',
};

test.each<[unknown, string]>([
  [{ return: { a: 1 }, retcode: 0 }, '{"a":1}'],
  [{ act: 'accept' }, '{"act":"accept"}'],
  [undefined, 'null'],
  ['x'.repeat(100), `"${'x'.repeat(19)}`],
])('of %j one sees the begin', (data, text) => {
  expect(eventSummary({ ...EVENT, data }, 20)).toBe(text);
});

test('a body that did not come is named by its size', () => {
  expect(eventSummary({ ...EVENT, size: 20_000 }, 20)).toBe('20,000 bytes: open it');
});

test.each<[Partial<EventShown>, string | undefined]>([
  [{ data: { retcode: 0, success: true } }, 'returned'],
  [{ data: { retcode: 2 } }, 'failed'],
  [{ data: { retcode: 0, success: false } }, 'failed'],
  [{ data: 'text' }, undefined],
  [{ kind: 'auth', data: { retcode: 2 } }, undefined],
])('%j is %s', (part, state) => {
  expect(returnedAs({ ...EVENT, ...part })).toBe(state);
});
