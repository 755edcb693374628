/** The end of an engine's process. */
export interface EngineEnd {
  readonly text: string;
  /** A restart would not help. */
  readonly refused: boolean;
}

/** The running process of an engine, in Node or Python. */
export interface EngineProcess {
  readonly pid: number | undefined;
  /** Resolves when the process is gone. Never rejects. */
  readonly gone: Promise<EngineEnd>;
  /** Asks it to stop, and ends it after five seconds. Resolves when it is gone. */
  stop(): Promise<void>;
}

/** Time that an engine has to stop, ms. */
export const STOP_MS = 5_000;
