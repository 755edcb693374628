import type { FunctionCall } from '@brine/master';
import type { SaltMap } from '@brine/wire';

/**
 * The work of a run, for the process that takes it over. The master's schedule, presence, upkeep,
 * known functions and its engines are runs that never end. Each engine has its own kind, as not all
 * processes may know it.
 */
export type OwnedKind =
  | 'runner'
  | 'orchestrate'
  | 'batch'
  | 'schedule'
  | 'presence'
  | 'upkeep'
  | 'functions'
  | `engine:${string}`;

/**
 * Long work that the cluster owns: if its process dies, another one resumes it from the last save.
 * Its record is in the bucket `brine_runs`, sealed, by the job id of the run.
 */
export interface OwnedRuns {
  /**
   * Begins a run that this process owns. If the jid already has a `runner` record, this run
   * replaces it and restores it at its end, until the event `ret` is stored.
   * @param data state that another process needs to continue: at most 256 KiB when packed and
   * compressed
   * @param fixed state that never changes and may be large: at most 1 MiB packed and compressed
   * @throws MasterUnavailableError if the bucket is unreachable; Error if the jid is taken, for too
   * many runs, or for too much data
   */
  begin(kind: OwnedKind, jid: string, data: SaltMap, fixed?: SaltMap): Promise<OwnedRun>;
  /** All current runs of the cluster, without those of kind `runner`. */
  list(): Promise<readonly OwnedRunRecord[]>;
  /** The current calls of runners in the cluster, those of kind `runner` too. */
  calls(): Promise<readonly CallUnderWay[]>;
  /** One run, also an ended one with a last message ({@link OwnedRun.end}). */
  find(jid: string): Promise<OwnedRunRecord | undefined>;
  /**
   * Sends a message to the process that owns the run; false: no such run.
   * @throws Error for too many messages
   */
  send(jid: string, message: SaltMap): Promise<boolean>;
  /** The messages that were sent to a current run, in their order. */
  messages(jid: string): readonly SaltMap[];
}

/** A call that a process runs, or that waits for a process. */
export interface CallUnderWay extends FunctionCall {
  /** Id of the process; empty between two owners. */
  readonly owner: string;
}

/** A run as stored in the bucket. */
export interface OwnedRunRecord {
  readonly jid: string;
  readonly kind: OwnedKind;
  /** Id of its process; empty between two owners, and after its end. */
  readonly owner: string;
  /** True if it has ended; `data` is then its last message. */
  readonly ended: boolean;
  readonly data: SaltMap;
}

/** A run that this process owns. */
export interface OwnedRun {
  readonly jid: string;
  /** The last saved data. */
  readonly data: SaltMap;
  /** The fixed state from the begin; may be empty. */
  readonly input: SaltMap;
  /** Aborted when the run is released or another process owns it: stop at once, write no more. */
  readonly released: AbortSignal;
  /**
   * Checks by the clock that the run is still this process's. Call it right before a step that
   * others see: a process that was paused would otherwise act before its timers run.
   * @throws RunLostError
   */
  check(): void;
  /**
   * Saves, before a step, the state that prevents another process from repeating it; resolves when
   * it is stored. @throws RunLostError if another process owns the run; Error for too much data.
   */
  save(data: SaltMap): Promise<void>;
  /**
   * As {@link save}, and stores the fixed state of the run, which may be large: at most 1 MiB
   * packed and compressed.
   */
  saveInput(fixed: SaltMap, data: SaltMap): Promise<void>;
  /** Calls the handler with each message of {@link OwnedRuns.send}, including earlier ones. */
  onMessage(handler: (message: SaltMap) => void): void;
  /**
   * Ends the run: its result is stored. With a last message the record stays for {@link
   * OwnedRuns.find}, up to 7 days. @throws RunLostError
   */
  end(last?: SaltMap): Promise<void>;
}

/** Another process owns the run. */
export class RunReleasedError extends Error {
  override readonly name = 'RunLostError';
}
