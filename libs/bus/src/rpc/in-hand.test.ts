import { expect, test } from 'vitest';
import { InHand } from './in-hand.ts';

test('beyond the limits of count and bytes nothing is taken, and that is counted', () => {
  const inHand = new InHand({ auth: { count: 2, bytes: 100 }, aes: { count: 10, bytes: 12 } });
  expect(inHand.take('auth', 1)).toBe(true);
  expect(inHand.take('auth', 1)).toBe(true);
  expect(inHand.take('auth', 1)).toBe(false);
  expect(inHand.take('aes', 5)).toBe(true);
  expect(inHand.take('aes', 8)).toBe(false);
  expect(inHand.take('aes', 7)).toBe(true);
  expect(inHand.take('clear', 1_000)).toBe(true);
  expect(inHand.refused).toBe(2);
  inHand.give('auth', 1);
  expect(inHand.take('auth', 1)).toBe(true);
  expect(inHand.of('auth')).toEqual({ count: 2, bytes: 2 });
});
