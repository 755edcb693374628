import type { Data } from './data.ts';
import type { Nodegroups } from './nodegroups.ts';

/** The target of a publication. */
export interface Target {
  readonly tgt: unknown;
  /** `glob` where it is left out. */
  readonly tgtType?: string;
  /** Splits paths of grain and pillar targets; `:` where it is left out. */
  readonly delimiter?: string;
}

/** The facts that a minion judges targets by. */
export interface MinionFacts {
  readonly id: string;
  readonly grains: Data;
  readonly pillar: Data;
  readonly nodegroups?: Nodegroups;
}

/** The facts that a master judges targets by. */
export interface TargetView {
  /** The ids with an accepted key. */
  readonly accepted: ReadonlySet<string>;
  /** Cached grains; undefined if the minion sent none: then it has no cached pillar either. */
  grains(id: string): Data;
  /** Cached pillar; undefined if the minion has none. */
  pillar(id: string): Data;
  readonly nodegroups: Nodegroups;
  /** Minions without the data that a target needs: left out (3008.2), or kept (3007). */
  readonly cacheless: 'drop' | 'keep';
  /** False considers only minions with cached grains (mine, peers). Default true. */
  readonly greedy?: boolean;
  /**
   * Judges as though each pillar could have any content: expects every minion that a target could
   * mean. Only these terms (`pillarTerms`) are judged by the content of pillars. For other terms no
   * pillar is read.
   */
  readonly whateverPillars?: ReadonlySet<string>;
  /** Salt's `minion_data_cache`; without it such targets expect every minion. Default true. */
  readonly dataCache?: boolean;
}

/** Thrown for an expression that cannot be judged; never leaves this library. */
export class TargetError extends Error {
  override readonly name = 'TargetError';
  readonly code = 'SALT_TARGET_EXPRESSION';
}
