/** A connection to port 4506 of the master; requests go one after another. */
export interface MasterRequests {
  /** Rejects without an answer in time. */
  request(body: Uint8Array, options: RequestLimits): Promise<Uint8Array>;
}

/** The limits of one request. */
export interface RequestLimits {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** A subscription of port 4505: yields frames of publications until it is closed. */
export interface Publications extends AsyncIterable<Uint8Array> {
  /** Resolves when the master has been reached for the first time. */
  readonly connected: Promise<void>;
  close(): Promise<void>;
}

/** The connections to the master. */
export interface MasterPort {
  /** For signing in: never waits behind returns. */
  readonly auth: MasterRequests;
  /** For everything else. */
  readonly requests: MasterRequests;
  /** `onLink` gets `true` when the connection is up, `false` when it is lost. */
  subscribe(publishPort: number, onLink?: (isUp: boolean) => void): Publications;
}

/** The key of the master as this minion knows it. */
export interface MasterKeyFile {
  readMasterPub(): Promise<string | undefined>;
  writeMasterPub(pem: string): Promise<void>;
}

/** Time and random numbers, replaceable in tests. */
export interface Clock {
  nowMs(): number;
  /** Rejects with the signal's reason when it is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** From 0 to 1, without 1. */
  random(): number;
}
