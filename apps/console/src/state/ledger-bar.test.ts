import type { Ledger } from '@brine/api/jobs';
import { describe, expect, test } from 'vitest';
import { LEDGER_ORDER, LEDGER_SIGNS, ledgerParts, ledgerSentence } from './ledger.ts';

function ledger(counts: Partial<Ledger>): Ledger {
  const none = { returned: 0, failed: 0, late: 0, waiting: 0, never: 0, unexpected: 0 };
  const rest = { ...none, ...counts };
  const targeted = LEDGER_ORDER.reduce((sum, state) => sum + rest[state], 0);
  return { targeted, ...rest };
}

describe('a bar', () => {
  test.each<[string, Partial<Ledger>]>([
    ['of one state', { returned: 5 }],
    ['of equal states', { returned: 1, failed: 1, late: 1, waiting: 1, never: 1 }],
    ['of one among many', { returned: 20_000, failed: 1 }],
    ['of few among many', { returned: 100_000, failed: 1, late: 2, waiting: 3, never: 1 }],
    ['where what is narrow makes others narrow', { returned: 98, failed: 2, late: 1 }],
  ])('%s is filled by its parts, in their order, each of which is seen', (_claim, counts) => {
    for (const width of [15, 120, 1_000]) {
      const parts = ledgerParts(ledger(counts), width);
      expect(parts.reduce((sum, part) => sum + part.width, 0)).toBeCloseTo(width);
      expect(parts.every((part) => part.width >= 3 - 1e-9)).toBe(true);
      expect(parts.map(({ state }) => state)).toEqual(
        LEDGER_ORDER.filter((state) => (counts[state] ?? 0) > 0),
      );
    }
  });

  test('of no minions has no parts', () => {
    expect(ledgerParts(ledger({}), 120)).toEqual([]);
  });

  test('has parts as wide as their counts where all are wide', () => {
    const widths = ledgerParts(ledger({ returned: 3, failed: 1 }), 100).map(({ width }) => width);
    expect(widths).toEqual([75, 25]);
  });
});

test('a sentence has the states that are there, with their numbers', () => {
  expect(ledgerSentence(ledger({ returned: 19_999, failed: 1 }))).toBe(
    '20,000 targeted: 19,999 returned, 1 failed',
  );
  expect(ledgerSentence(ledger({}))).toBe('0 targeted');
});

test('each state differs from the others by its shape, its letter and its word', () => {
  const signs = LEDGER_ORDER.map((state) => LEDGER_SIGNS[state]);
  for (const part of ['shape', 'letter', 'word'] as const) {
    expect(new Set(signs.map((sign) => sign[part])).size).toBe(LEDGER_ORDER.length);
  }
});
