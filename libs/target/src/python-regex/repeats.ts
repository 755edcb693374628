import type { CharSet } from './char-set.ts';
import { before, longest, widthIn } from './places.ts';
import type { Program, Run } from './program.ts';
import { OP } from './program.ts';
import type { Stack } from './stack.ts';
import { FRAME } from './stack.ts';

const { accept: DO_ACCEPT, char: DO_CHAR } = OP;
const { longer: TO_LONGER, shorter: TO_SHORTER } = FRAME;

/** Repeated sets: every allowed number of repeats is tried, one after another. */
export class Repeats {
  readonly #stack: Stack;
  text = '';

  constructor(stack: Stack) {
    this.#stack = stack;
  }

  /** Takes as many as allowed, or as few if lazy; -1 with fewer than the minimum. */
  first(program: Program, pc: number, from: number): number {
    const { set, min, max, lazy } = program.runs[program.a[pc] as number] as Run;
    const { text } = this;
    const least = this.#taken(set, from, min);
    if (least < 0) return -1;
    // The last instruction need not take more than the minimum if groups are not needed.
    if (program.testOnly && program.ops[pc + 1] === DO_ACCEPT) return least;
    if (lazy) {
      if (max > min) this.#stack.push(TO_LONGER, pc, least, min);
      return least;
    }
    const most = longest(set, text, least, max - min);
    this.#stack.count((most - least) >> 3);
    return this.#fitting(program, pc, most, least);
  }

  /** Takes one repeat less; -1 if none is left. */
  fewer(program: Program, pc: number, from: number, least: number): number {
    return this.#fitting(program, pc, before(this.text, from), least);
  }

  /** Takes one repeat more; -1 if the next character does not fit. */
  oneMore(program: Program, pc: number, from: number, times: number): number {
    const { set, max } = program.runs[program.a[pc] as number] as Run;
    const width = widthIn(set, this.text, from);
    if (width === 0) return -1;
    if (times + 1 < max) this.#stack.push(TO_LONGER, pc, from + width, times + 1);
    return from + width;
  }

  /** Goes back to a place where the next instruction can begin; earlier places are tried later. */
  #fitting(program: Program, pc: number, most: number, least: number): number {
    let at = most;
    if (program.ops[pc + 1] === DO_CHAR) {
      const { text } = this;
      const next = program.a[pc + 1] as number;
      while (at > least && text.charCodeAt(at) !== next) at = before(text, at);
      this.#stack.count((most - at) >> 2);
      if (text.charCodeAt(at) !== next) return -1;
    }
    if (at > least) this.#stack.push(TO_SHORTER, pc, at, least);
    return at;
  }

  /** The end of `count` characters of a set; -1 with fewer. */
  #taken(set: CharSet, from: number, count: number): number {
    let at = from;
    for (let i = 0; i < count; i += 1) {
      const width = widthIn(set, this.text, at);
      if (width === 0) return -1;
      at += width;
    }
    this.#stack.count(count >> 1);
    return at;
  }
}
