import type { FunctionCall } from '@brine/master';
import type { SaltMap } from '@brine/wire';

/**
 * What is to be done when another process takes a run over. The master's schedule, presence, upkeep
 * and its engines are runs that never end; an engine has a kind of its own, as not all processes
 * may know it.
 */
export type OwnedKind =
  'runner' | 'orchestrate' | 'batch' | 'schedule' | 'presence' | 'upkeep' | `engine:${string}`;

/**
 * Long work that the cluster owns: when the process that does it dies, another one goes on from
 * what was saved last. Its record is in the bucket `brine_runs`, sealed, by the job id of the run.
 */
export interface OwnedRuns {
  /**
   * Begins a run as this process's. A run of the calling function's own jid replaces the record of
   * kind `runner` that each runner has; when it ends, that record is there again until the event
   * `ret` is stored.
   * @param data what another process needs to go on: at most 256 KiB when packed and compressed
   * @param fixed what never changes and may be large: at most 1 MiB packed and compressed
   * @throws MasterUnavailableError when the bucket is away; Error for a jid that is there already,
   *   for more runs than the limit, for data that is too large
   */
  begin(kind: OwnedKind, jid: string, data: SaltMap, fixed?: SaltMap): Promise<OwnedRun>;
  /** All runs that are under way in the cluster, without those of kind `runner`. */
  list(): Promise<readonly OwnedRunRecord[]>;
  /** The calls of runners under way in the cluster, those of kind `runner` too. */
  calls(): Promise<readonly CallUnderWay[]>;
  /** One run, also one that has ended with a last word ({@link OwnedRun.end}). */
  find(jid: string): Promise<OwnedRunRecord | undefined>;
  /**
   * Leaves a word for the process that owns the run, wherever that is; false: no such run.
   * @throws Error for more words than the limit
   */
  send(jid: string, message: SaltMap): Promise<boolean>;
  /** The words that were left so far for a run which is under way, in their order. */
  messages(jid: string): readonly SaltMap[];
}

/** A call that a process is at, or that waits for a process. */
export interface CallUnderWay extends FunctionCall {
  /** Id of the process; empty between two owners. */
  readonly owner: string;
}

/** A run as the bucket has it. */
export interface OwnedRunRecord {
  readonly jid: string;
  readonly kind: OwnedKind;
  /** Id of the process that does it; empty between two owners, and when it has ended. */
  readonly owner: string;
  /** It has ended, and `data` is its last word. */
  readonly ended: boolean;
  readonly data: SaltMap;
}

/** A run in the hands of this process. */
export interface OwnedRun {
  readonly jid: string;
  /** What was saved last. */
  readonly data: SaltMap;
  /** What was given at the begin and never changes; empty where nothing was. */
  readonly input: SaltMap;
  /** Aborted when the run is another process's, or is handed on: stop at once, write no more. */
  readonly released: AbortSignal;
  /**
   * Asks the clock whether the run is still this process's. Call it right before a step that others
   * see. A process that was stopped would otherwise act before its timers run.
   * @throws RunLostError
   */
  check(): void;
  /**
   * Saves before a step what another process must know to do no step twice; resolves when it is
   * stored. @throws RunLostError when the run is another process's now; Error for too much data.
   */
  save(data: SaltMap): Promise<void>;
  /**
   * As {@link save}, and gives the run what never changes from now on, which may be large: at most
   * 1 MiB packed and compressed.
   */
  saveInput(fixed: SaltMap, data: SaltMap): Promise<void>;
  /** Calls the handler with each word that {@link OwnedRuns.send} left, the earlier ones too. */
  onMessage(handler: (message: SaltMap) => void): void;
  /**
   * Ends the run: its result is stored. With a last word the record stays for
   * {@link OwnedRuns.find}, up to 7 days. @throws RunLostError
   */
  end(last?: SaltMap): Promise<void>;
}

/** The run is another process's now. */
export class RunReleasedError extends Error {
  override readonly name = 'RunLostError';
}
