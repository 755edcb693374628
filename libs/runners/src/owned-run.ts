import type { SaltMap } from '@brine/wire';

/** What is to be done when another worker takes a run over. */
export type OwnedKind = 'runner' | 'orchestrate' | 'batch';

/**
 * Long work that the cluster owns: when the worker that does it dies, another one goes on from what
 * was saved last. Its record is in the bucket `brine_runs`, sealed, by the job id of the run.
 */
export interface OwnedRuns {
  /**
   * Begins a run as this worker's.
   * @param data what another worker needs to go on
   * @throws MasterUnavailableError when the bucket is away; Error for a jid that is there already,
   *   or for more runs than the limit
   */
  begin(kind: OwnedKind, jid: string, data: SaltMap): Promise<OwnedRun>;
  /** All runs that are under way in the cluster. */
  list(): Promise<readonly OwnedRunRecord[]>;
  /** Leaves a word for the worker that owns the run, wherever that is; false: no such run. */
  tell(jid: string, word: SaltMap): Promise<boolean>;
}

/** A run as the bucket has it. */
export interface OwnedRunRecord {
  readonly jid: string;
  readonly kind: OwnedKind;
  /** Id of the worker that does it. */
  readonly owner: string;
  readonly data: SaltMap;
}

/** A run in the hands of this worker. */
export interface OwnedRun {
  readonly jid: string;
  /** What was saved last. */
  readonly data: SaltMap;
  /** Aborted when another worker has taken the run: stop at once, write nothing more. */
  readonly lost: AbortSignal;
  /**
   * Saves before a step what another worker must know to do no step twice; resolves when it is
   * stored. @throws RunLostError when the run is another worker's now.
   */
  save(data: SaltMap): Promise<void>;
  /** Calls the handler with each word that {@link OwnedRuns.tell} left, the earlier ones too. */
  onWord(handler: (word: SaltMap) => void): void;
  /** Removes the record: the run has ended, and its result is stored. */
  end(): Promise<void>;
}

/** The run is another worker's now. */
export class RunLostError extends Error {
  override readonly name = 'RunLostError';
}
