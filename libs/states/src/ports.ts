import type { SaltMap, SaltValue } from '@brine/wire';
import type { Chunk } from './values.ts';

/** A function of a state module. */
export interface StateFunction {
  /** Module and function: `salt.state`. */
  readonly name: string;
  /** Arguments in their order; without a default they must be given. */
  readonly parameters: readonly (readonly [name: string, preset?: SaltValue])[];
  /** Takes further arguments (Python: `**kwargs`). */
  readonly open?: true;
  /** It acts outside of the run: its result is saved, so that nothing is done twice. */
  readonly outside?: true;
  /** The result: `name`, `result`, `changes`, `comment`. What it throws becomes a failure. */
  run(args: SaltMap, call: StateCall): Promise<SaltMap> | SaltMap;
}

/** What a state function knows of its call. */
export interface StateCall {
  readonly chunk: Chunk;
  /** Nothing may be changed; the result says what would be done. */
  readonly test: boolean;
  /** Results so far, by tag. */
  readonly running: ReadonlyMap<string, SaltMap>;
  /** The environment of the SLS file. */
  readonly saltenv: string;
  readonly orchestrationJid: string | undefined;
  /** What this call noted before its worker died; undefined for a call that begins. */
  readonly earlier: SaltMap | undefined;
  /** Saves what another worker must know if this one dies now. */
  note(what: SaltMap): Promise<void>;
}

/** The result of a step, and when it ran, in unix ms. */
export interface DoneStep {
  readonly ret: SaltMap;
  readonly startMs: number;
  readonly endMs: number;
}

/** What a run has done already, kept where another worker finds it. */
export interface StepLedger {
  done(key: string): DoneStep | undefined;
  earlier(key: string): SaltMap | undefined;
  /** @throws RunCutOffError when the run is not ours any more */
  begin(key: string, note: SaltMap): Promise<void>;
  /** @throws RunCutOffError when the run is not ours any more */
  finish(key: string, step: DoneStep): Promise<void>;
}

/** What a run reaches outside of itself. */
export interface RunPorts {
  /** A state function by its name. */
  stateFunction(name: string): StateFunction | undefined;
  /** Why a state is not there, in words for the user; undefined for no further reason. */
  missing(name: string): string | undefined;
  /**
   * Calls a function of the master's own minion for `unless` and `onlyif`.
   * @throws Error for one that is not there
   */
  call(fun: string, args: readonly SaltValue[], kwargs: SaltMap): Promise<SaltValue>;
  /** Makes the pillar again (`reload_pillar`). */
  reloadPillar(): Promise<void>;
  /** Unix ms, with parts of one. */
  now(): number;
  sleep(ms: number): Promise<void>;
  /** Waits while the state of this id is paused; `kill` ends the run before it. */
  gate(id: string): Promise<'run' | 'kill'>;
  /** Fires an event; a failure is the port's to tell. */
  fire(tag: string, data: SaltMap): Promise<void>;
  log(level: 'error' | 'warning' | 'info', text: string): void;
  readonly ledger: StepLedger;
}

/** How a run goes. */
export interface RunOptions {
  /** Id of the minion that the run is for. */
  readonly id: string;
  /** Job id, for events. */
  readonly jid: string | undefined;
  readonly test: boolean;
  readonly failhard: boolean;
  /** `state_events`: an event for each state. */
  readonly stateEvents: boolean;
  /** `state_max_parallel`; 0 for no limit of its own. */
  readonly maxParallel: number;
}

/** The run goes on elsewhere, or was ended: this one stops at once. */
export class RunCutOffError extends Error {
  override readonly name = 'RunCutOffError';
}

/** Arguments that a state function does not take; it ends the whole run, as in Salt. */
export class StateArgumentError extends Error {
  override readonly name = 'salt.exceptions.SaltInvocationError';
}

/** A ledger that keeps nothing: the run ends with its process. */
export const NO_LEDGER: StepLedger = {
  done: () => undefined,
  earlier: () => undefined,
  begin: () => Promise.resolve(),
  finish: () => Promise.resolve(),
};
