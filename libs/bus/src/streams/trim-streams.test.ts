import { expect, test } from 'vitest';
import { excessOf } from './trim-streams.ts';

const config = { max_bytes: 1_000 };

test('nothing is too much up to 40 % of the room, nor in a stream without a limit', () => {
  expect(excessOf({ messages: 10, bytes: 400, config })).toBe(0);
  expect(excessOf({ messages: 10, bytes: 9e9, config: { max_bytes: -1 } })).toBe(0);
  expect(excessOf({ messages: 0, bytes: 0, config })).toBe(0);
});

test('what is too much leaves 40 % of the room', () => {
  for (const share of [0.41, 0.5, 0.7, 1]) {
    const messages = 1_000;
    const left = messages - excessOf({ messages, bytes: share * 1_000, config });
    expect((left / messages) * share).toBeLessThanOrEqual(0.4);
    expect((left / messages) * share).toBeGreaterThan(0.39);
  }
});
