import { isAway } from '@brine/client';
import { MasterUnavailableError } from '@brine/master';
import type { SaltMap, SaltValue } from '@brine/wire';
import type { RunnerContext, RunnerMaster } from '../function.ts';

/** The access of one orchestration's state functions. */
export interface StateWorld {
  readonly context: RunnerContext;
  readonly master: RunnerMaster;
  /** The pillar of the master's own minion, with the caller's additions. */
  pillar(): SaltMap;
  /** Calls a function of templates. @throws Error for an unknown one */
  call(fun: string, args: readonly SaltValue[], kwargs: SaltMap): Promise<SaltValue>;
  /** True if another process resumes this run after this one dies. */
  readonly isOwned: boolean;
  /** Rejects when another process owns the run; long waits must watch it. */
  readonly cutOff: AbortSignal | undefined;
}

/** Longest lag of the job cache behind publishes and returns after a takeover, ms. */
export const KNOWN_WITHIN_MS = 10_000;
/** Time that a step waits for an unreachable job cache after a takeover, ms. */
export const BEHIND_MAX_MS = 3_600_000;

/** An answer; undefined while the master, its records or the job cache are unreachable. */
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

/** An error with its Python name. */
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
