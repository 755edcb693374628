import type { Nodegroups } from '@brine/target';
import type { SaltMap, SaltValue } from '@brine/wire';

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
  /** What the pillar has so far: by it terms of node groups judge that ask for a pillar. */
  readonly pillar: SaltMap;
  /** Renders a text, by the renderers of its first line or else of `pipe`. Throws Salt's text. */
  readonly render: (text: string, how: TextRenderers) => SaltValue;
  readonly log: (level: 'critical' | 'error', text: string) => void;
}

/** The renderers for a text: `pipe` for one that names none, and which are allowed. */
interface TextRenderers {
  readonly pipe: SaltValue;
  readonly blacklist: SaltValue;
  readonly whitelist: SaltValue;
}
