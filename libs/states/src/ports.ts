import type { SaltMap, SaltValue } from '@brine/wire';
import type { Chunk } from './values.ts';

/** A function of a state module. */
export interface StateFunction {
  /** Module and function: `salt.state`. */
  readonly name: string;
  /** Arguments in their order; those without a default are required. */
  readonly parameters: readonly (readonly [name: string, preset?: SaltValue])[];
  /** Takes further arguments (Python: `**kwargs`). */
  readonly open?: true;
  /** The function acts outside of the run: its result is saved, so that nothing is done twice. */
  readonly outside?: true;
  /** The result: `name`, `result`, `changes`, `comment`. An exception becomes a failure. */
  run(args: SaltMap, call: StateCall): Promise<SaltMap> | SaltMap;
}

/** The context of a call of a state function. */
export interface StateCall {
  readonly chunk: Chunk;
  /** Nothing may be changed; the result describes the changes. */
  readonly test: boolean;
  /** Results so far, by tag. */
  readonly running: ReadonlyMap<string, SaltMap>;
  /** The environment of the SLS file. */
  readonly saltenv: string;
  readonly orchestrationJid: string | undefined;
  /** Notes of this call from before its worker died; undefined for a new call. */
  readonly earlier: SaltMap | undefined;
  /** Saves a note for another worker, in case this one dies. */
  note(what: SaltMap): Promise<void>;
}

/** The result of a step, and when it ran, in unix ms. */
export interface DoneStep {
  readonly ret: SaltMap;
  readonly startMs: number;
  readonly endMs: number;
}

/** The steps that a run has done, kept where another worker finds them. */
export interface StepLedger {
  done(key: string): DoneStep | undefined;
  earlier(key: string): SaltMap | undefined;
  /** @throws RunCutOffError if another worker owns the run */
  begin(key: string, note: SaltMap): Promise<void>;
  /** @throws RunCutOffError if another worker owns the run */
  finish(key: string, step: DoneStep): Promise<void>;
}

/** The connections of a run to the outside. */
export interface RunPorts {
  /** A state function by its name. */
  stateFunction(name: string): StateFunction | undefined;
  /** Why a state is missing, as a text for the user; undefined for no further reason. */
  missing(name: string): string | undefined;
  /**
   * Calls a function of the master's own minion for `unless` and `onlyif`.
   * @throws Error for an unknown function
   */
  call(fun: string, args: readonly SaltValue[], kwargs: SaltMap): Promise<SaltValue>;
  /** Renders the pillar again (`reload_pillar`). */
  reloadPillar(): Promise<void>;
  /** Unix ms, with a fraction. */
  now(): number;
  sleep(ms: number): Promise<void>;
  /** Waits while the state of this id is paused; `kill` ends the run before it. */
  gate(id: string): Promise<'run' | 'kill'>;
  /** Fires an event; the port reports failures. */
  fire(tag: string, data: SaltMap): Promise<void>;
  log(level: 'error' | 'warning' | 'info', text: string): void;
  readonly ledger: StepLedger;
}

/** The options of a run. */
export interface RunOptions {
  /** Id of the minion that the run is for. */
  readonly id: string;
  /** Job id, for events. */
  readonly jid: string | undefined;
  readonly test: boolean;
  readonly failhard: boolean;
  /** `state_events`: an event for each state. */
  readonly stateEvents: boolean;
  /** `state_max_parallel`; 0 for no limit. */
  readonly maxParallel: number;
}

/** The run continues elsewhere, or was ended: this one stops at once. */
export class RunCutOffError extends Error {
  override readonly name = 'RunCutOffError';
}

/** An unknown argument of a state function; it ends the whole run, as in Salt. */
export class StateArgumentError extends Error {
  override readonly name = 'salt.exceptions.SaltInvocationError';
}

/** A ledger without storage: the run ends with its process. */
export const NO_LEDGER: StepLedger = {
  done: () => undefined,
  earlier: () => undefined,
  begin: () => Promise.resolve(),
  finish: () => Promise.resolve(),
};
