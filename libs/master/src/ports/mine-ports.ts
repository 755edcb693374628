import type { SaltMap } from '@brine/wire';

/**
 * What minions put into the mine: one map of values by function for each, shared by all workers.
 */
export interface Mines {
  /** Undefined where a minion put nothing there. */
  fetch(id: string): Promise<SaltMap | undefined>;
  /**
   * Replaces the map of a minion by what `next` makes of it; undefined removes it. Called again
   * with the newer map where another worker wrote meanwhile. False: it became too large.
   */
  change(id: string, next: (now: SaltMap | undefined) => SaltMap | undefined): Promise<boolean>;
}
