import { isAway } from '@brine/client';
import { MasterUnavailableError } from '@brine/master';
import type { SaltMap, SaltValue } from '@brine/wire';
import type { RunnerContext, RunnerMaster } from '../function.ts';

/** What the state functions of one orchestration reach. */
export interface StateWorld {
  readonly context: RunnerContext;
  readonly master: RunnerMaster;
  /** The pillar of the master's own minion, with what the caller gave. */
  pillar(): SaltMap;
  /** Calls a function that templates have. @throws Error for one that is not there */
  call(fun: string, args: readonly SaltValue[], kwargs: SaltMap): Promise<SaltValue>;
  /** Another process goes on with this run if this one dies. */
  readonly isOwned: boolean;
  /** Rejects when the run is another process's; what waits long waits for this too. */
  readonly cutOff: AbortSignal | undefined;
}

/** After a takeover the job cache may be so long behind what was published and returned, ms. */
export const KNOWN_WITHIN_MS = 10_000;
/** After a takeover a step waits so long for a job cache that is away, ms. */
export const BEHIND_MAX_MS = 3_600_000;

/** An answer; undefined while the master, its records or the job cache are away. */
export async function unlessAway<T>(
  ask: () => Promise<T>,
): Promise<{ readonly value: T } | undefined> {
  try {
    return { value: await ask() };
  } catch (error) {
    if (isAway(error) || error instanceof MasterUnavailableError) return undefined;
    throw error;
  }
}

/** An error as Python names it. */
export function pythonError(name: string, text: string): Error {
  return Object.assign(new Error(text), { name });
}

/** Waits for the work; rejects with the reason of the signal when that is aborted. */
export async function unlessCutOff<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  if (signal === undefined) return work;
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason instanceof Error ? signal.reason : new Error('cut off'));
  });
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
