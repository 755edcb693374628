import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { refusedWorkLog } from './fault-log.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('too much work is logged at once, and then every five minutes with a count', () => {
  const lines: unknown[] = [];
  const tell = refusedWorkLog({ warn: (fields: object) => lines.push({ ...fields }) } as never);
  for (let n = 0; n < 300; n += 1) tell({ cmd: 'publish', who: 'anne', peer: '192.0.2.7' });
  expect(lines).toEqual([{ cmd: 'publish', who: 'anne', peer: '192.0.2.7', requests: 1 }]);
  vi.advanceTimersByTime(300_000);
  tell({ cmd: 'minion_pub', who: 'web1' });
  expect(lines[1]).toEqual({ cmd: 'minion_pub', who: 'web1', requests: 300 });
});
