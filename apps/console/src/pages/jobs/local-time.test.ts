import { expect, test } from 'vitest';
import { fromLocalField, toLocalField } from './local-time.ts';

test.each(['2026-01-31T23:59:59.000Z', '2026-07-01T00:00:00.000Z'])('%s is read again', (time) => {
  expect(fromLocalField(toLocalField(time))).toBe(time);
});

test.each(['', 'yesterday', '2026-13-45'])('%j is no time', (text) => {
  expect(toLocalField(text)).toBe('');
  expect(fromLocalField(text)).toBe('');
});
