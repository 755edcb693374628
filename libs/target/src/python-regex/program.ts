import type { Place } from './ast.ts';
import type { CharSet } from './char-set.ts';

/** The instructions; `a` and `b` are the numbers of each. */
export const OP = {
  /** Ends the match. */
  accept: 0,
  /** A character of the basic plane, `a`. */
  char: 1,
  /** The text `a`. */
  text: 2,
  /** A character of the set `a`. */
  set: 3,
  /** The set of `runs[a]`, as often as its bounds allow. */
  run: 4,
  /** Continues at `a`, and on failure at `b`. */
  split: 5,
  jump: 6,
  /** The place `a`. */
  at: 7,
  /** `looks[a]`. */
  look: 8,
  /** Remembers the place in register `a`. */
  save: 9,
  /** Continues at `b` if no character was taken since register `a` was set. */
  unmoved: 10,
  /** The text of group `a` again; with `b` without regard to case. */
  ref: 11,
  /** Continues where `choices[a]` leads for the next character, and on failure at `b`. */
  choose: 12,
} as const;

/** A repeated set. */
export interface Run {
  readonly set: CharSet;
  readonly min: number;
  readonly max: number;
  readonly lazy: boolean;
}

/** A look-around; its instructions begin at `start` and end with `accept`. */
export interface Look {
  readonly start: number;
  readonly negated: boolean;
  /** Characters back from here; undefined looks ahead. */
  readonly back: number | undefined;
}

/** An expression as instructions. */
export interface Program {
  readonly ops: Uint8Array;
  readonly a: Int32Array;
  readonly b: Int32Array;
  readonly texts: readonly string[];
  readonly sets: readonly CharSet[];
  readonly runs: readonly Run[];
  readonly looks: readonly Look[];
  readonly places: readonly Place[];
  readonly choices: readonly ReadonlyMap<number, number>[];
  /**
   * Two registers for each group, from register 2 for group 1; loops have those after the groups.
   */
  readonly registers: number;
  /** True with references to groups: then the same place is not always the same state. */
  readonly hasRefs: boolean;
  /** True if the groups are not needed. */
  readonly testOnly: boolean;
}
