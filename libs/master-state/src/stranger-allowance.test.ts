import { expect, it } from 'vitest';
import { strangerAllowance } from './audit-writer.ts';

it('strangers cause at most a burst of events and then a trickle', () => {
  let now = 0;
  const may = strangerAllowance({}, () => now);
  const allowed = (tries: number): number =>
    Array.from({ length: tries }, may).filter(Boolean).length;
  expect(allowed(20_000)).toBe(5_000);
  now += 1_000;
  expect(allowed(20_000)).toBe(200);
  now += 3_600_000;
  expect(allowed(20_000)).toBe(5_000);
});
