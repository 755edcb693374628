import { MasterUnavailableError } from '@brine/master';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { faultLog } from './fault-log.ts';

let lines: [level: string, fields: Record<string, unknown>, text: string][];
let tell: ReturnType<typeof faultLog>;

beforeEach(() => {
  vi.useFakeTimers();
  lines = [];
  const level = (name: string) => (fields: object, text: string) => {
    lines.push([name, { ...fields }, text]);
  };
  tell = faultLog({ error: level('error'), warn: level('warn') } as never);
});

afterEach(() => void vi.useRealTimers());

test('an outage is logged once a minute, with the number of requests that met it', () => {
  const away = (): MasterUnavailableError => new MasterUnavailableError('the stream is away');
  for (let n = 0; n < 500; n += 1) tell(away(), { id: `r${n}` });
  expect(lines.map(([level, { reason, requests }]) => [level, reason, requests])).toEqual([
    ['warn', 'the stream is away', 1],
  ]);
  tell(new MasterUnavailableError('the store is away'), { id: 'x' });
  expect(lines).toHaveLength(2);
  vi.advanceTimersByTime(60_000);
  tell(away(), { id: 'y' });
  expect(lines.at(-1)?.[1]).toMatchObject({ reason: 'the stream is away', requests: 500 });
});

test('an error in our code is logged each time, with its request', () => {
  for (const id of ['a', 'b']) tell(new TypeError('oops'), { id });
  expect(lines.map(([level, { request }]) => [level, request])).toEqual([
    ['error', 'a'],
    ['error', 'b'],
  ]);
});
