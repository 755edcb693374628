import { expect, test } from 'vitest';
import { eventKey, hasReached, streamOf } from './places-of-events.ts';

test('an event has one name, wherever its reader is in the other stream', () => {
  const one = { position: '7.2-3_0a1b2c3d', kind: 'ret' };
  const other = { position: '7.2-5.1_0a1b2c3d', kind: 'ret' };
  expect(eventKey(one)).toBe(eventKey(other));
  expect(eventKey({ ...one, kind: 'job' })).not.toBe(eventKey({ ...other, kind: 'job' }));
});

test('events of one message, of two streams and of two lives of them differ', () => {
  const keys = [
    { position: '7.1-3_0a1b2c3d', kind: 'ret' },
    { position: '7.2-3_0a1b2c3d', kind: 'ret' },
    { position: '7-3_0a1b2c3d', kind: 'ret' },
    { position: '7-7_0a1b2c3d', kind: 'job' },
    { position: '7-3_ffffffff', kind: 'ret' },
  ].map(eventKey);
  expect(new Set(keys).size).toBe(5);
});

test('jobs are of the stream of publications', () => {
  expect(streamOf({ kind: 'job' })).toBe('publications');
  expect(streamOf({ kind: 'auth' })).toBe('events');
});

test.each([
  ['7-3_0a1b2c3d', '7-3_0a1b2c3d', true],
  ['8-3_0a1b2c3d', '7-3_0a1b2c3d', true],
  ['8-2_0a1b2c3d', '7-3_0a1b2c3d', false],
  ['7.1-3_0a1b2c3d', '7-3_0a1b2c3d', false],
  ['7-3_0a1b2c3d', '7.1-3_0a1b2c3d', true],
  ['9-9_ffffffff', '7-3_0a1b2c3d', false],
  ['none', '7-3_0a1b2c3d', false],
])('one at %s has read all up to %s: %s', (position, other, expected) => {
  expect(hasReached(position, other)).toBe(expected);
});
