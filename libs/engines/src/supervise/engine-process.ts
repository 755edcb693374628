/** How the process of an engine has ended. */
export interface EngineEnd {
  readonly text: string;
  /** It would not run the next time either. */
  readonly refused: boolean;
}

/** The running process of an engine, whatever runs in it. */
export interface EngineProcess {
  readonly pid: number | undefined;
  /** Resolves when the process is gone. Never rejects. */
  readonly gone: Promise<EngineEnd>;
  /** Asks it to stop, and ends it after five seconds. Resolves when it is gone. */
  stop(): Promise<void>;
}

/** How long an engine has for its end, ms. */
export const STOP_MS = 5_000;
