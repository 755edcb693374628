import type { CaseLab } from './case-lab.ts';
import { type RecordedCase, wordsOf } from './recorded-cases.ts';

/** Cases that wait cost no CPU; more at once would make minions answer late. */
const WIDTH = 4;

/** These show what else runs at the master, or did so lately. */
const SEES_OTHERS = new Set([
  'jobs.active',
  'jobs.last_run',
  'jobs.list_jobs_filter',
  'saltutil.is_running',
  'saltutil.running',
  'state.event',
  'batch.list_active',
]);

/** Beside a job with several functions Salt refuses states: it takes their list for a text. */
const COMPOUND = /^\w+\.\w+,/;

/** How a case stands to others: a minion runs one state job at a time. */
export function turnOf(recorded: RecordedCase): 'alone' | 'states' | 'beside' {
  const words = wordsOf(recorded);
  const clears = recorded.before?.includes('jobs-clear') ?? false;
  if (clears || words.some((word) => SEES_OTHERS.has(word))) return 'alone';
  const isState = words.some((word) => word.startsWith('state.') || COMPOUND.test(word));
  return isState ? 'states' : 'beside';
}

/**
 * Does this for each case: first for those that must be alone, one by one, then for the others side
 * by side, the longest first.
 */
export async function inTurns(
  lab: CaseLab,
  cases: readonly RecordedCase[],
  run: (recorded: RecordedCase) => Promise<void>,
): Promise<void> {
  const having = (turn: string): RecordedCase[] => cases.filter((one) => turnOf(one) === turn);
  for (const recorded of having('alone')) {
    await lab.nothingRuns();
    await run(recorded);
  }
  const states = async (): Promise<void> => {
    for (const recorded of having('states')) {
      await lab.nothingRuns('state.');
      await run(recorded);
    }
  };
  const beside = having('beside').sort((one, other) => other.seconds - one.seconds);
  const waiting = beside[Symbol.iterator]();
  const lane = async (): Promise<void> => {
    for (const recorded of waiting) await run(recorded);
  };
  await Promise.all([states(), ...Array.from({ length: WIDTH }, lane)]);
}
