import type { Place } from './ast.ts';
import type { CharSet } from './char-set.ts';
import { isKnown, type Memory, newMemory } from './memory.ts';
import { backFrom, isAt, repeated, widthIn } from './places.ts';
import type { Look, Program } from './program.ts';
import { OP } from './program.ts';
import { Repeats } from './repeats.ts';
import { FRAME, FRAME_SIZE, Stack } from './stack.ts';
import { after, nextStart, type SearchOptions } from './starts.ts';

// Local names: the loop of the machine must not look them up in another module each time.
const {
  accept: DO_ACCEPT,
  at: DO_AT,
  char: DO_CHAR,
  choose: DO_CHOOSE,
  jump: DO_JUMP,
  look: DO_LOOK,
  run: DO_RUN,
  save: DO_SAVE,
  set: DO_SET,
  split: DO_SPLIT,
  text: DO_TEXT,
  unmoved: DO_UNMOVED,
} = OP;
const { go: TO_GO, restore: TO_RESTORE, shorter: TO_SHORTER } = FRAME;

/** Steps per character, and in all, before a search restarts with a memory. */
const PLAIN_STEPS = 2_000;
const STEPS_PER_UNIT = 8;

/** The outcomes of a search. */
const [FAILED, MATCHED, AGAIN] = [0, 1, 2] as const;

/** The limits of a search: its steps, its known failures, and a forbidden end. */
interface Search {
  readonly patience: number;
  readonly memory: Memory | undefined;
  /** A match that ends here does not count; -1 for none. */
  readonly barred: number;
}

/**
 * Runs a program on one text after another. It backtracks as Python's engine does, with its stack
 * on the heap and each step counted. A search that takes long restarts with a memory of the places
 * where it failed. Then its time is linear, except for expressions with references.
 */
export class Machine {
  readonly #program: Program;
  /** The same program with a counter in every loop, so that a run can be memoised. */
  readonly #linear: () => Program;
  readonly #stack: Stack;
  readonly #repeats: Repeats;
  #text = '';
  #next = 0; // the next instruction

  constructor(program: Program, linear: () => Program) {
    this.#program = program;
    this.#linear = linear;
    this.#stack = new Stack(program.registers);
    this.#repeats = new Repeats(this.#stack);
  }

  /**
   * True if the text matches from a place on, or from a later one; the registers have the places.
   * @throws WorkError
   */
  finds(text: string, { from, anchored, advance, limit }: SearchOptions): boolean {
    this.#text = text;
    this.#repeats.text = text;
    const stack = this.#stack;
    stack.clear(limit);
    let program = this.#program;
    let patience = this.#patience();
    let memory: Memory | undefined;
    for (let at = from; ;) {
      const start = anchored ? at : nextStart(program, text, at);
      stack.count((start - at) >> 3);
      if (start > text.length) return false;
      const barred = advance && start === from ? from : -1;
      const found = this.#run(program, 0, start, { patience, memory, barred });
      if (found === MATCHED) return true;
      if (found === AGAIN) {
        stack.unwind(0, true);
        program = this.#linear();
        // A failure at a place counts for every start, so the memory serves all of them.
        memory = this.#memory(program);
        patience = limit;
        at = start;
      } else if (anchored) return false;
      else at = after(text, start);
    }
  }

  /** Steps that the last match took. */
  get steps(): number {
    return this.#stack.steps;
  }

  /** Where groups began and ended in the last match, -1 where they did not. */
  get registers(): Int32Array {
    return this.#stack.registers;
  }

  /** Matches from the beginning of a look-around. */
  #inside(linear: boolean, look: number, from: number): boolean {
    const program = linear ? this.#linear() : this.#program;
    const memory = linear ? this.#memory(program) : undefined;
    const patience = linear ? this.#stack.limit : this.#patience();
    const base = this.#stack.top;
    const { start } = program.looks[look] as Look;
    const found = this.#run(program, start, from, { patience, memory, barred: -1 });
    if (found !== AGAIN) return found === MATCHED;
    this.#stack.unwind(base, true);
    return this.#inside(true, look, from);
  }

  /** Steps after which a search without a memory restarts with one. */
  #patience(): number {
    const { steps, limit } = this.#stack;
    const plain = steps + PLAIN_STEPS + STEPS_PER_UNIT * this.#text.length;
    return this.#program.hasRefs ? limit : Math.min(plain, limit);
  }

  #memory(program: Program): Memory | undefined {
    return program.hasRefs ? undefined : newMemory(program, this.#text.length + 1, this.#stack);
  }

  // eslint-disable-next-line max-lines-per-function -- a case for each instruction, in one loop
  #run(program: Program, start: number, from: number, search: Search): number {
    const { ops, a, b } = program;
    const { patience, memory, barred } = search;
    const text = this.#text;
    const base = this.#stack.top;
    let pc = start;
    let at = from;
    let steps = this.#stack.steps;
    for (;;) {
      steps += 1;
      if (steps > patience) {
        this.#stack.steps = steps;
        this.#stack.count(0);
        return AGAIN;
      }
      const x = a[pc] as number;
      let fails = false;
      switch (ops[pc]) {
        case DO_CHAR:
          if (text.charCodeAt(at) === x) {
            at += 1;
            pc += 1;
          } else fails = true;
          break;
        case DO_TEXT: {
          const wanted = program.texts[x] as string;
          steps += wanted.length >> 4;
          if (text.startsWith(wanted, at)) {
            at += wanted.length;
            pc += 1;
          } else fails = true;
          break;
        }
        case DO_SET: {
          const width = widthIn(program.sets[x] as CharSet, text, at);
          if (width > 0) {
            at += width;
            pc += 1;
          } else fails = true;
          break;
        }
        case DO_JUMP:
          pc = x;
          break;
        case DO_SPLIT:
          if (isKnown(memory, pc, at)) fails = true;
          else {
            this.#stack.push(TO_GO, b[pc] as number, at, 0);
            pc = x;
          }
          break;
        case DO_ACCEPT:
          if (at === barred) {
            fails = true;
            break;
          }
          this.#stack.steps = steps;
          this.#stack.registers[0] = from;
          this.#stack.registers[1] = at;
          return MATCHED;
        default: {
          this.#stack.steps = steps;
          const next = this.#rare(program, pc, at, memory);
          steps = this.#stack.steps;
          if (next < 0) fails = true;
          else {
            at = next;
            pc = this.#next;
          }
        }
      }
      if (!fails) continue;
      this.#stack.steps = steps;
      const next = this.#back(program, base);
      steps = this.#stack.steps;
      if (next < 0) return FAILED;
      at = next;
      pc = this.#next;
    }
  }

  /** Runs the rare instructions; returns the place to continue at, -1 on failure. */
  #rare(program: Program, pc: number, at: number, memory: Memory | undefined): number {
    const x = program.a[pc] as number;
    this.#next = pc + 1;
    switch (program.ops[pc]) {
      case DO_RUN:
        if (isKnown(memory, pc, at)) return -1;
        return this.#repeats.first(program, pc, at);
      case DO_CHOOSE:
        return isKnown(memory, pc, at) ? -1 : this.#choose(program, pc, at);
      case DO_AT:
        return isAt(program.places[x] as Place, this.#text, at) ? at : -1;
      case DO_LOOK:
        if (!this.#look(program, x, at)) return -1;
        this.#next = pc + 1;
        return at;
      case DO_SAVE:
        this.#stack.push(TO_RESTORE, x, this.#stack.registers[x] as number, 0);
        this.#stack.registers[x] = at;
        return at;
      case DO_UNMOVED:
        if (this.#stack.registers[x] === at) this.#next = program.b[pc] as number;
        return at;
      default:
        return this.#reference(x, at, program.b[pc] === 1);
    }
  }

  #choose(program: Program, pc: number, at: number): number {
    const chosen = program.choices[program.a[pc] as number]?.get(this.#text.charCodeAt(at));
    const other = program.b[pc] as number;
    if (chosen !== undefined && other >= 0) this.#stack.push(TO_GO, other, at, 0);
    this.#next = chosen ?? other;
    return this.#next < 0 ? -1 : at;
  }

  #reference(register: number, at: number, ignoreCase: boolean): number {
    const from = this.#stack.registers[register] as number;
    const to = this.#stack.registers[register + 1] as number;
    if (from < 0 || to < from) return -1;
    this.#stack.count(to - from);
    const length = repeated(this.#text.slice(from, to), this.#text, at, ignoreCase);
    return length < 0 ? -1 : at + length;
  }

  #look(program: Program, index: number, at: number): boolean {
    const { negated, back } = program.looks[index] as Look;
    const from = back === undefined ? at : backFrom(this.#text, at, back);
    if (from < 0) return negated;
    const [start, end] = [this.#stack.registers[0] as number, this.#stack.registers[1] as number];
    const base = this.#stack.top;
    const found = this.#inside(program !== this.#program, index, from);
    this.#stack.registers[0] = start;
    this.#stack.registers[1] = end;
    this.#stack.unwind(base, negated || !found);
    return found !== negated;
  }

  /** Backtracks to the last alternative; returns its place, -1 without any. */
  #back(program: Program, base: number): number {
    const stack = this.#stack;
    while (stack.top > base) {
      stack.top -= FRAME_SIZE;
      const { top, frames } = stack;
      const pc = frames[top + 1] as number;
      const x = frames[top + 2] as number;
      let at = -1;
      switch (frames[top]) {
        case TO_RESTORE:
          this.#stack.restore(top);
          break;
        case TO_GO:
          this.#next = pc;
          return x;
        case TO_SHORTER:
          at = this.#repeats.fewer(program, pc, x, frames[top + 3] as number);
          break;
        default:
          at = this.#repeats.oneMore(program, pc, x, frames[top + 3] as number);
      }
      if (at < 0) continue;
      this.#next = pc + 1;
      return at;
    }
    return -1;
  }
}
