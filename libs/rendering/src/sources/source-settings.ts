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
  /** The pillar so far: terms of node groups about a pillar are judged by it. */
  readonly pillar: SaltMap;
  /** Renders a text, by the renderers of its first line or else of `pipe`. Throws Salt's text. */
  readonly render: (text: string, how: TextRenderers) => SaltValue;
  readonly log: (level: 'critical' | 'error', text: string) => void;
}

/** The renderers for a text: `pipe` for a text that names none, and the allowed ones. */
interface TextRenderers {
  readonly pipe: SaltValue;
  readonly blacklist: SaltValue;
  readonly whitelist: SaltValue;
}
