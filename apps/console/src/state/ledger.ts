import type { Ledger } from '@brine/api/jobs';

/** A state of the minions of a job. */
export type LedgerState = 'returned' | 'failed' | 'late' | 'waiting' | 'never';

/** In the order of the bar. */
export const LEDGER_ORDER: readonly LedgerState[] = [
  'returned',
  'failed',
  'late',
  'waiting',
  'never',
];

/** Each state as a shape, a letter and a word: colour comes last. */
export const LEDGER_SIGNS: Readonly<
  Record<LedgerState, { readonly shape: string; readonly letter: string; readonly word: string }>
> = {
  returned: { shape: '●', letter: 'R', word: 'returned' },
  failed: { shape: '✖', letter: 'F', word: 'failed' },
  late: { shape: '◐', letter: 'L', word: 'late' },
  waiting: { shape: '○', letter: 'W', word: 'waiting' },
  never: { shape: '▢', letter: 'N', word: 'never returned' },
};

/** Pixels that a state has at least, if one minion is in it. */
const PART_MIN = 3;

/** A part of the bar. */
export interface LedgerPart {
  readonly state: LedgerState;
  readonly count: number;
  /** Pixels. */
  readonly width: number;
}

/**
 * The parts of a bar: as wide as their counts, but each is seen. They fill the bar.
 * @param width pixels of the bar: at least those of all states
 */
export function ledgerParts(counts: Ledger, width: number): readonly LedgerPart[] {
  const there = LEDGER_ORDER.filter((state) => counts[state] > 0);
  const all = there.reduce((sum, state) => sum + counts[state], 0);
  // What is too narrow gets its pixels from the others.
  const narrow = new Set<LedgerState>();
  for (;;) {
    const wide = there.filter((state) => !narrow.has(state));
    const room = width - narrow.size * PART_MIN;
    const rest = wide.reduce((sum, state) => sum + counts[state], 0);
    const next = wide.filter((state) => (counts[state] / rest) * room < PART_MIN);
    if (next.length === 0 || all === 0) {
      return there.map((state) => ({
        state,
        count: counts[state],
        width: narrow.has(state) ? PART_MIN : (counts[state] / rest) * room,
      }));
    }
    for (const state of next) narrow.add(state);
  }
}

/** The bar as a sentence. */
export function ledgerSentence(counts: Ledger): string {
  const number = new Intl.NumberFormat('en');
  const parts = LEDGER_ORDER.filter((state) => counts[state] > 0).map(
    (state) => `${number.format(counts[state])} ${LEDGER_SIGNS[state].word}`,
  );
  const of = `${number.format(counts.targeted)} targeted`;
  return parts.length === 0 ? of : `${of}: ${parts.join(', ')}`;
}

/** The ledger of a job after a live message about it, whose counts have no `late` and `never`. */
export function liveLedger(
  ledger: Ledger,
  live: { readonly targeted: number; readonly returned: number; readonly failed: number },
): Ledger {
  const { targeted, returned, failed } = live;
  const { late, never } = ledger;
  const waiting = Math.max(0, targeted - returned - failed - late - never);
  return { ...ledger, targeted, returned, failed, waiting };
}
