import { expect, test } from 'vitest';
import { neededFrom, packRecord, readRecord } from './place-record.ts';

const HOUR_MS = 3_600_000;

test('a record comes back as it was, and anything else is none', () => {
  const record = { owner: 'h/1', position: '1-2_00000000', note: { size: 1 } };
  expect(readRecord(packRecord(record))).toEqual(record);
  for (const text of ['', 'x', '[]', '3', '{"owner":1,"position":{}}']) {
    expect(readRecord(Buffer.from(text))).toEqual({ owner: '' });
  }
});

test('positions are needed while their process renews them, and a day longer', () => {
  const at = (position: string, timeMs: number) => {
    return { value: packRecord({ owner: 'a', position }), timeMs };
  };
  const now = 100 * HOUR_MS;
  const records = [
    at('1-1_00000000', now),
    at('2-2_00000000', now - 23 * HOUR_MS),
    at('3-3_00000000', now - 25 * HOUR_MS),
    { value: packRecord({ owner: 'a' }), timeMs: now },
  ];
  expect(neededFrom(records, now)).toEqual(['1-1_00000000', '2-2_00000000']);
});
