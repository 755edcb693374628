import { describe, expect, test, vi } from 'vitest';
import { until } from './until.ts';

/** The error with which a wait ends. */
async function failureOf(waiting: Promise<unknown>): Promise<Error> {
  const failure: unknown = await waiting.catch((error: unknown) => error);
  if (!(failure instanceof Error)) throw new Error('the wait did not fail');
  return failure;
}

describe('a wait holds', () => {
  test('as soon as its check gives something, and gives that', async () => {
    const lines: string[] = [];
    setImmediate(() => lines.push('ready'));
    const found = until('a line', () => lines.find((line) => line === 'ready'));
    expect((await found).length).toBe(5);
  });

  test('when what the check gives is empty, zero or null', async () => {
    expect(await until('no text', () => '')).toBe('');
    expect(await until('no number', async () => 0)).toBe(0);
    expect(await until('no object', () => null)).toBeNull();
  });

  test('once an expectation is met, sync or async', async () => {
    let count = 0;
    await until('three', () => expect((count += 1)).toBe(3));
    expect(count).toBe(3);
    await until('six', async () => expect((count += 1)).toBe(6));
    expect(count).toBe(6);
    await until('seven', () => expect(Promise.resolve((count += 1))).resolves.toBe(7));
    expect(count).toBe(7);
    await until('no error', () => expect(() => (count += 1)).not.toThrow());
  });

  test('at the first look where there is no time', async () => {
    expect(await until('now', () => 1, { withinMs: 0 })).toBe(1);
  });
});

describe('a wait that is in vain', () => {
  test('says what it waited for, how long, and the last value', async () => {
    const failure = await failureOf(until('the moon', () => false, { withinMs: 30 }));
    expect(failure.message).toMatch(
      /^waited 30 ms for this: the moon; checked \d+ times, seen last: false$/,
    );
    expect(failure.cause).toBeUndefined();
  });

  test('says the last error, and shows vitest the difference', async () => {
    let tries = 0;
    const check = (): void => expect({ tries: (tries += 1) }).toEqual({ tries: 0 });
    const failure = await failureOf(until('none', check, { withinMs: 30 }));
    expect(failure.message).toContain(`last error: expected { tries: ${tries} } to deeply equal`);
    expect(failure).toMatchObject({ actual: { tries }, expected: { tries: 0 } });
    expect(failure.cause).toMatchObject({ name: 'AssertionError' });
  });

  test('names the line that waits', async () => {
    const failure = await failureOf(until('none', () => false, { withinMs: 10 }));
    expect(failure.stack).toContain('until.test.ts');
  });

  test('ends in time though its check does not, and says what was seen before', async () => {
    const never = new Promise<never>(() => undefined);
    const first = await failureOf(until('an end', () => never, { withinMs: 20 }));
    expect(first.message).toBe('waited 20 ms for this: an end; the check itself did not end');
    let tries = 0;
    const later = (): unknown => ((tries += 1) === 1 ? false : never);
    const second = await failureOf(until('an end', later, { withinMs: 40 }));
    expect(second.message).toContain('checked 2 times, seen last: false');
  });
});

test('a check is made seldom where it takes long, so that it leaves time for others', async () => {
  let looks = 0;
  const slow = async (): Promise<boolean> => {
    looks += 1;
    const end = performance.now() + 40;
    while (performance.now() < end);
    return false;
  };
  await failureOf(until('none', slow, { withinMs: 300 }));
  expect(looks).toBeLessThanOrEqual(5);
});

test("time passes for a wait where a test's clock stands", async () => {
  vi.useFakeTimers();
  try {
    expect((await failureOf(until('none', () => false, { withinMs: 20 }))).message).toMatch('none');
  } finally {
    vi.useRealTimers();
  }
});
