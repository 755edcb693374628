import type { Place } from './ast.ts';
import type { CharSet } from './char-set.ts';

/** What an instruction does; `a` and `b` are its numbers. */
export const OP = {
  /** The whole matches. */
  accept: 0,
  /** One character of the basic plane, `a`. */
  char: 1,
  /** The text `a`. */
  text: 2,
  /** One character of the set `a`. */
  set: 3,
  /** The set of `runs[a]`, within its numbers of repeats. */
  run: 4,
  /** Continues at `a`, and where that fails at `b`. */
  split: 5,
  jump: 6,
  /** The place `a`. */
  at: 7,
  /** `looks[a]`. */
  look: 8,
  /** Remembers the place in register `a`. */
  save: 9,
  /** Continues at `b` where nothing was taken since register `a` was set. */
  unmoved: 10,
  /** The text of group `a` once more; with `b` case does not count. */
  ref: 11,
  /** Continues where `choices[a]` leads for the next character, and if that fails at `b`. */
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
  /** Groups are two each, from register 2 for group 1; those behind them are loops'. */
  readonly registers: number;
  /** What a group took may be asked for: then the same place is not always the same state. */
  readonly hasRefs: boolean;
  /** Only whether it matches is of interest. */
  readonly testOnly: boolean;
}
