/** The evidence that a minion is connected (libs/presence). */
export type ConnectionEvidence = 'connection' | 'shared' | 'unclear' | 'answers' | 'ended';

/** The connection of a minion to port 4505. Times are unix ms; 0: unknown. */
export interface MinionConnection {
  readonly present: boolean;
  /** Time of the last change of `present`. */
  readonly sinceMs: number;
  /** Time of the last loss. */
  readonly goneMs: number;
  /** The address of its last proof; empty without a proof. */
  readonly address: string;
  /** Absent for an absent minion. */
  readonly evidence?: ConnectionEvidence;
}

/**
 * Which minions are connected, over all publishers. Each method rejects with MasterUnavailableError
 * while no worker can answer.
 */
export interface MinionPresence {
  /** All present minions, with their address. */
  present(): Promise<ReadonlyMap<string, string>>;
  /** The connections of these minions; unknown minions are left out. */
  of(ids: readonly string[]): Promise<ReadonlyMap<string, MinionConnection>>;
}
