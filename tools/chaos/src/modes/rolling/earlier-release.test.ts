import type { Difference, LedgerReport } from '@brine/ledger-check';
import { expect, test } from 'vitest';
import { withoutEarlierFault } from './earlier-release.ts';

const EARLY: Difference = { kind: 'job-twice', jid: '20261129004027541536' };
const LATE: Difference = { kind: 'job-twice', jid: '20261129004127541536' };
const LOST: Difference = { kind: 'job-lost', jid: '20261129004027541536' };
const LAST = '20261129004033000000';

function books(...differences: Difference[]): LedgerReport {
  const counts: Partial<Record<Difference['kind'], number>> = {};
  for (const { kind } of differences) counts[kind] = (counts[kind] ?? 0) + 1;
  return { differences, counts, figures: {} as LedgerReport['figures'], ok: false };
}

test('jobs twice are left out while a gateway of the earlier release may have run', () => {
  const { ledger, forgiven } = withoutEarlierFault(books(EARLY), LAST);
  expect(ledger).toMatchObject({ differences: [], counts: {}, ok: true });
  expect(forgiven).toEqual([EARLY.jid]);
});

test('later ones, and any other difference, count', () => {
  const { ledger } = withoutEarlierFault(books(EARLY, LATE, LOST), LAST);
  expect(ledger).toMatchObject({ differences: [LATE, LOST], ok: false });
  expect(ledger.counts).toEqual({ 'job-twice': 1, 'job-lost': 1 });
  expect(withoutEarlierFault(books(EARLY), '').ledger.ok).toBe(false);
});
