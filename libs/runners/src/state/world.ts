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
  /** Another worker goes on with this run if this one dies. */
  readonly isOwned: boolean;
  /** Rejects when the run is another worker's; what waits long waits for this too. */
  readonly cutOff: AbortSignal | undefined;
}

/** An error as Python names it. */
export function pythonError(name: string, text: string): Error {
  return Object.assign(new Error(text), { name });
}

/** Rejects when the signal is aborted; what it waits with can be told apart by its error. */
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
