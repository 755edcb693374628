import type { EngineFigures } from '../engine.ts';
import type { EngineFault, EngineModule, EngineSpec } from '../engine-list.ts';

/** Counts of an engine in this process, over all of its restarts. */
export interface EngineCounts {
  /** Events that it received. */
  sent: number;
  /** Events that it has processed. */
  done: number;
  /** Events that could no longer be read. */
  lost: number;
  /** Notices about events that it does not receive. */
  notices: number;
  /** Events that it fired. */
  fired: number;
  /** Functions that it called. */
  calls: number;
  restarts: number;
}

/** The state of an engine, for `brine status`. */
export type EngineState =
  /** Another process has it, or none yet. */
  | 'elsewhere'
  | 'starting'
  | 'running'
  /** Ended; a restart follows soon. */
  | 'waiting'
  /** Ended too often in a row; started again every ten minutes. */
  | 'given up'
  /** Its configuration is invalid. */
  | 'refused';

/** The status of an engine in this process. */
export interface EngineStatus extends Readonly<EngineCounts> {
  readonly name: string;
  readonly module: string;
  readonly where: EngineSpec['where'];
  readonly state: EngineState;
  readonly pid?: number | undefined;
  /** Events that it has not processed. */
  readonly inHand: number;
  /** Why it does not run, or why it last ended. */
  readonly why?: string | undefined;
  /** Its own figures. */
  readonly figures: EngineFigures;
}

export function noCounts(): EngineCounts {
  return { sent: 0, done: 0, lost: 0, notices: 0, fired: 0, calls: 0, restarts: 0 };
}

/** The status of an invalid entry of the list. */
export function refusedStatus({ name, why }: EngineFault): EngineStatus {
  const place = { module: '', where: 'cluster' } as const;
  return { name, ...place, state: 'refused', why, inHand: 0, figures: {}, ...noCounts() };
}

/** The name of a module for people. */
export function moduleText(module: EngineModule): string {
  if (module.kind === 'file') return module.path;
  return module.kind === 'python' ? `python ${module.name}` : module.name;
}
