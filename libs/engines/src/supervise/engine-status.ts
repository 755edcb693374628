import type { EngineFigures } from '../engine.ts';
import type { EngineFault, EngineModule, EngineSpec } from '../engine-list.ts';

/** What an engine did in this process, over all of its processes. */
export interface EngineCounts {
  /** Events that it got. */
  sent: number;
  /** Of these, those that it is done with. */
  done: number;
  /** Events that could not be read any more. */
  lost: number;
  /** Times that it was told of events that it does not get. */
  notices: number;
  /** Events that it fired. */
  fired: number;
  /** Functions that it called. */
  calls: number;
  restarts: number;
}

/** The state of an engine, for `brine status`. */
export type EngineState =
  /** Another process has it, or none has it yet. */
  | 'elsewhere'
  | 'starting'
  | 'running'
  /** It has ended and is started again soon. */
  | 'waiting'
  /** It ended too often in a row; it is tried every ten minutes. */
  | 'given up'
  /** It can not run as it is configured. */
  | 'refused';

/** What is known of an engine in this process. */
export interface EngineStatus extends Readonly<EngineCounts> {
  readonly name: string;
  readonly module: string;
  readonly where: EngineSpec['where'];
  readonly state: EngineState;
  readonly pid?: number | undefined;
  /** Events that it is not done with. */
  readonly inHand: number;
  /** Why it does not run, or why it last ended. */
  readonly why?: string | undefined;
  /** Its own figures. */
  readonly figures: EngineFigures;
}

/** Counts that begin. */
export function noCounts(): EngineCounts {
  return { sent: 0, done: 0, lost: 0, notices: 0, fired: 0, calls: 0, restarts: 0 };
}

/** An entry of the list that does not run. */
export function refusedStatus({ name, why }: EngineFault): EngineStatus {
  const place = { module: '', where: 'cluster' } as const;
  return { name, ...place, state: 'refused', why, inHand: 0, figures: {}, ...noCounts() };
}

/** A module as a person names it. */
export function moduleText(module: EngineModule): string {
  if (module.kind === 'file') return module.path;
  return module.kind === 'python' ? `python ${module.name}` : module.name;
}
