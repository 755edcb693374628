import type { Ledger } from '@brine/api/jobs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LEDGER_ORDER, ledgerParts, liveLedger, mostCounts } from './ledger.ts';

const NONE: Ledger = {
  targeted: 0,
  waiting: 0,
  returned: 0,
  failed: 0,
  late: 0,
  never: 0,
  unexpected: 0,
};

const ledger = (counts: Partial<Ledger>): Ledger => ({ ...NONE, ...counts });
const sum = (counts: Ledger): number => LEDGER_ORDER.reduce((all, state) => all + counts[state], 0);

/** A minion of a job: whether it returns, when, and how. */
interface Minion {
  readonly at: number | undefined;
  readonly failed: boolean;
  readonly unexpected: boolean;
}

const DEADLINE = 50;
const minions = fc.array(
  fc.record({
    at: fc.option(fc.integer({ min: 0, max: 100 }), { nil: undefined }),
    failed: fc.boolean(),
    unexpected: fc.boolean(),
  }),
  { maxLength: 30 },
);

/** What the job cache has at a time. */
function storedAt(job: readonly Minion[], now: number): Ledger {
  const counts = { ...NONE };
  for (const { at, failed, unexpected } of job) {
    const came = at !== undefined && at <= now;
    if (unexpected && !came) continue;
    counts.targeted += 1;
    if (unexpected) counts.unexpected += 1;
    if (!came) counts[now >= DEADLINE ? 'never' : 'waiting'] += 1;
    else if (at > DEADLINE) counts.late += 1;
    else counts[failed ? 'failed' : 'returned'] += 1;
  }
  return counts;
}

/** What a stream has at a time. */
function streamedAt(job: readonly Minion[], now: number) {
  const targets = job.filter(({ unexpected }) => !unexpected);
  const came = targets.filter(({ at }) => at !== undefined && at <= now);
  const failed = came.filter((one) => one.failed).length;
  return { targeted: targets.length, returned: came.length - failed, failed };
}

/** The same, where the page knows which returns were late. */
function knownAt(job: readonly Minion[], now: number) {
  const { targeted } = streamedAt(job, now);
  const came = job.filter(({ at, unexpected }) => !unexpected && at !== undefined && at <= now);
  const inTime = came.filter(({ at = 0 }) => at <= DEADLINE);
  const failed = inTime.filter((one) => one.failed).length;
  return {
    targeted,
    returned: inTime.length - failed,
    failed,
    late: came.length - inTime.length,
  };
}

describe('a live ledger', () => {
  test('takes nothing back at a deadline, however far behind the job cache is', () => {
    const step = fc.record({ now: fc.integer({ min: 0, max: 120 }), behind: fc.nat(60) });
    const targets = minions.map((job) => job.map((one) => ({ ...one, unexpected: false })));
    fc.assert(
      fc.property(targets, fc.array(step), (job, steps) => {
        let before = NONE;
        let stored = 0;
        for (const { now, behind } of steps.sort((one, other) => one.now - other.now)) {
          stored = Math.max(stored, now - behind);
          const shown = liveLedger(storedAt(job, stored), knownAt(job, now));
          expect(sum(shown)).toBe(shown.targeted);
          for (const state of ['returned', 'failed', 'late'] as const) {
            expect(shown[state]).toBeGreaterThanOrEqual(before[state]);
          }
          before = shown;
        }
      }),
    );
  });

  test('adds up at every frame, whichever of its sources is older', () => {
    const time = fc.integer({ min: 0, max: 120 });
    fc.assert(
      fc.property(minions, time, fc.array(time), (job, asked, frames) => {
        let shown = storedAt(job, asked);
        for (const now of frames) {
          shown = liveLedger(shown, streamedAt(job, now));
          expect(sum(shown)).toBe(shown.targeted);
          expect(shown.waiting === 0 || shown.never === 0).toBe(true);
          for (const state of LEDGER_ORDER) expect(shown[state]).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });

  test('is what the job cache has, where both are of one time and all are targets', () => {
    const targets = minions.map((job) => job.map((one) => ({ ...one, unexpected: false })));
    fc.assert(
      fc.property(targets, fc.integer({ min: 0, max: 120 }), (job, now) => {
        const stored = storedAt(job, now);
        expect(liveLedger(stored, streamedAt(job, now))).toEqual(stored);
        expect(liveLedger(stored, knownAt(job, now))).toEqual(stored);
      }),
    );
  });

  test('never takes a return back for an older message', () => {
    const asked = ledger({ targeted: 4, returned: 2, failed: 1, waiting: 1 });
    expect(liveLedger(asked, { targeted: 4, returned: 1, failed: 0 })).toEqual(asked);
  });

  test('counts what comes after the deadline as late', () => {
    const asked = ledger({ targeted: 4, returned: 1, never: 3 });
    expect(liveLedger(asked, { targeted: 4, returned: 2, failed: 1 })).toEqual(
      ledger({ targeted: 4, returned: 1, late: 2, never: 1 }),
    );
  });

  test('knows a job that the job cache does not count yet', () => {
    expect(liveLedger(NONE, { targeted: 3, returned: 1, failed: 1 })).toEqual(
      ledger({ targeted: 3, returned: 1, failed: 1, waiting: 1 }),
    );
  });
});

test('another http-api takes no counts back: it may know less, or nothing', () => {
  const before = { targeted: 9, returned: 5, failed: 1 };
  expect(mostCounts(undefined, null)).toBeUndefined();
  expect(mostCounts(before, null)).toEqual(before);
  expect(mostCounts(before, { targeted: 9, returned: 2, failed: 2 })).toEqual({
    targeted: 9,
    returned: 5,
    failed: 2,
  });
});

describe('a bar', () => {
  test('shows one of 20,000, and is as wide as it may be', () => {
    const parts = ledgerParts(ledger({ targeted: 20_000, returned: 19_999, failed: 1 }), 140);
    expect(parts.find(({ state }) => state === 'failed')?.width).toBe(3);
    expect(parts.reduce((all, { width }) => all + width, 0)).toBeCloseTo(140);
  });
});
