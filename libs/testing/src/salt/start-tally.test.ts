import { expect, test, vi } from 'vitest';
import { StartTally } from './start-tally.ts';

test('what was started is printed once, with the sum of the waits', () => {
  const tally = new StartTally();
  const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
  try {
    const wait = (what: 'masters' | 'minions', ms: number): void => {
      using _ = tally.waiting(what);
      clock.mockReturnValue(performance.now() + ms);
    };
    tally.started('masters');
    wait('masters', 3_210);
    for (let n = 0; n < 2; n += 1) tally.started('minions');
    wait('minions', 500);
    expect(() => {
      using _ = tally.waiting('minions');
      clock.mockReturnValue(performance.now() + 1_000);
      throw new Error('no answer');
    }).toThrow('no answer');
    expect(tally.take()).toBe('masters 1 (3.2 s), minions 2 (1.5 s)');
    expect(tally.take()).toBe(undefined);
  } finally {
    clock.mockRestore();
  }
});
