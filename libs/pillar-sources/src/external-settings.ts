import type { Nodegroups } from '@brine/target';
import type { SaltMap } from '@brine/wire';

/** For whom an external pillar is asked. */
export interface ExternalMinion {
  readonly id: string;
  readonly grains: SaltMap;
  readonly pillarenv: string | null;
}

/** What external pillars work with beside their arguments. */
export interface ExternalSettings {
  /** Directories by environment, for a relative `root_dir`. */
  readonly pillarRoots: Readonly<Record<string, readonly string[]>>;
  readonly nodegroups: Nodegroups;
  readonly log: (level: 'critical' | 'error', text: string) => void;
}
