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

/** What a stream knows of a job: the returns of its targets. */
export interface LiveCounts {
  readonly targeted: number;
  readonly returned: number;
  readonly failed: number;
  /** Those that came after the deadline; undefined: they may be among the others. */
  readonly late?: number;
}

/**
 * The counts of a job after a message. Another http-api that was started since does not count the
 * job (null) or has fewer returns of it: those that came are not taken back.
 */
export function mostCounts(
  before: LiveCounts | undefined,
  now: LiveCounts | null,
): LiveCounts | undefined {
  if (before === undefined || now === null) return before ?? now ?? undefined;
  return {
    targeted: Math.max(before.targeted, now.targeted),
    returned: Math.max(before.returned, now.returned),
    failed: Math.max(before.failed, now.failed),
  };
}

/** How many returns a stream knows. */
export function cameLive({ returned, failed, late = 0 }: LiveCounts): number {
  return returned + failed + late;
}

/** How many minions of a job returned, in time or late. */
export function cameOf({ returned, failed, late }: Ledger): number {
  return returned + failed + late;
}

/**
 * The ledger of a job with what a stream knows besides. Its states add up to `targeted`, whichever
 * of both is older; the same counts twice change nothing. Where the ledger has minions that are
 * late or never returned, the deadline is over: what came since is late, unless the stream knows
 * it.
 */
export function liveLedger(asked: Ledger, live: LiveCounts): Ledger {
  const came = cameOf(asked);
  // A stream counts targets alone.
  const targeted = Math.max(asked.targeted, live.targeted + asked.unexpected, came);
  const silent = targeted - came;
  const fresh = clamp(cameLive(live) + asked.unexpected - came, silent);
  const isOver = asked.late + asked.never > 0;
  const late = clamp((live.late ?? (isOver ? Infinity : 0)) - asked.late, fresh);
  const failed = clamp(live.failed - asked.failed, fresh - late);
  return {
    ...asked,
    targeted,
    returned: asked.returned + fresh - late - failed,
    failed: asked.failed + failed,
    late: asked.late + late,
    [isOver ? 'waiting' : 'never']: 0,
    [isOver ? 'never' : 'waiting']: silent - fresh,
  };
}

function clamp(count: number, max: number): number {
  return Math.max(0, Math.min(count, max));
}
