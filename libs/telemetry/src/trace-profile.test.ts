import { expect, test } from 'vitest';
import { TRACE_SHARES, type TraceProfile } from './trace-profile.ts';

const BY_AMOUNT: readonly TraceProfile[] = ['off', 'errors', 'sampled', 'all'];

test('off records nothing, all records everything, and no profile less than the one before', () => {
  const shares = BY_AMOUNT.map((profile) => {
    const { returns, requests } = TRACE_SHARES[profile];
    return [returns.ratio, requests.login, requests.pillar, requests.event, requests.query];
  });
  expect(shares[0]).toEqual([0, 0, 0, 0, 0]);
  expect(shares.at(-1)).toEqual([1, 1, 1, 1, 1]);
  for (const [at, before] of shares.slice(0, -1).entries()) {
    const more = shares[at + 1] ?? [];
    expect(before.every((share, index) => share <= (more[index] ?? 0))).toBe(true);
  }
});

test('errors records failed returns and none for being early', () => {
  expect(TRACE_SHARES.errors.returns).toEqual({ first: 0, failed: 100, ratio: 0 });
});
