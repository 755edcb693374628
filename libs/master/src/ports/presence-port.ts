/** How the master knows that a minion is connected (libs/presence). */
export type ConnectionEvidence = 'connection' | 'shared' | 'unclear' | 'answers' | 'ended';

/** What is known of the connection of a minion to port 4505. Times are unix ms; 0: not known. */
export interface MinionConnection {
  readonly present: boolean;
  /** Since when it is, or is not. */
  readonly sinceMs: number;
  /** When it was lost last. */
  readonly goneMs: number;
  /** The address from which it proved itself last; empty where it did not. */
  readonly address: string;
  /** Absent for a minion that is not present. */
  readonly evidence?: ConnectionEvidence;
}

/**
 * Which minions are connected, over all publishers. Each rejects with MasterUnavailableError while
 * no worker can tell.
 */
export interface MinionPresence {
  /** All that are present, with their address. */
  present(): Promise<ReadonlyMap<string, string>>;
  /** Of these minions; those of which nothing is known are left out. */
  of(ids: readonly string[]): Promise<ReadonlyMap<string, MinionConnection>>;
}
