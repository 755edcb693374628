import type { KnownMinion } from '@brine/presence';

/**
 * Which minions are connected, over all publishers. Each method rejects with MasterUnavailableError
 * while no worker can answer.
 */
export interface MinionPresence {
  /** All present minions, with their address. */
  present(): Promise<ReadonlyMap<string, string>>;
  /** The connections of these minions; unknown minions are left out. */
  of(ids: readonly string[]): Promise<ReadonlyMap<string, KnownMinion>>;
}
