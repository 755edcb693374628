import type { Nodegroups } from '@brine/target';
import type { SaltMap } from '@brine/wire';

/** The minion for which an external pillar is computed. */
export interface ExternalMinion {
  readonly id: string;
  readonly grains: SaltMap;
  readonly pillarenv: string | null;
}

/** Settings of external pillars beside their arguments. */
export interface ExternalSettings {
  /** Directories by environment, for a relative `root_dir`. */
  readonly pillarRoots: Readonly<Record<string, readonly string[]>>;
  readonly nodegroups: Nodegroups;
  readonly log: (level: 'critical' | 'error', text: string) => void;
}
