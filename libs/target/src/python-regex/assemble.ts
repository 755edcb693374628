import type { Work } from '../work.ts';
import type { Expression, Node, Place } from './ast.ts';
import { RegexError } from './ast.ts';
import type { CharSet } from './char-set.ts';
import { ANYTHING, CharSets, NOT_NEWLINE } from './char-set.ts';
import { factored } from './factor.ts';
import type { Look, Program, Run } from './program.ts';
import { OP } from './program.ts';
import { canBeEmpty, hasRefs, widthOf } from './shape.ts';

// Limits expressions with nested repeats, which are unrolled: honest ones have some hundred.
const MAX_INSTRUCTIONS = 16_384;
// Without runs a loop is three instructions.
const MAX_LINEAR_INSTRUCTIONS = 4 * MAX_INSTRUCTIONS;

// The work of making an instruction, in steps.
const STEPS_PER_INSTRUCTION = 20;

const LETTERS_ALONE = 4;

/** How an expression is assembled. */
export interface AssembleOptions {
  /** The groups are not needed, so alternatives may be tried in any order. */
  readonly testOnly: boolean;
  /** Repeated sets are one instruction: fast, but on long texts not linear. */
  readonly runs: boolean;
}

/** @throws RegexError for an expression that is too large, WorkError. */
export function assemble(expression: Expression, options: AssembleOptions, work: Work): Program {
  return new Assembler(expression, options, work).program();
}

class Assembler {
  readonly #expression: Expression;
  readonly #work: Work;
  readonly #most: number;
  readonly #runsWanted: boolean;
  readonly #mayFactor: boolean;
  readonly #hasRefs: boolean;
  readonly #keepsGroups: boolean;
  readonly #charSets = new CharSets();
  readonly #ops: number[] = [];
  readonly #a: number[] = [];
  readonly #b: number[] = [];
  readonly #texts: string[] = [];
  readonly #sets: CharSet[] = [];
  readonly #runs: Run[] = [];
  readonly #looks: Look[] = [];
  readonly #places: Place[] = [];
  readonly #choices: Map<number, number>[] = [];
  #registers: number;

  constructor(expression: Expression, { testOnly, runs }: AssembleOptions, work: Work) {
    this.#expression = expression;
    this.#work = work;
    this.#most = runs ? MAX_INSTRUCTIONS : MAX_LINEAR_INSTRUCTIONS;
    this.#runsWanted = runs;
    this.#hasRefs = hasRefs(expression.body);
    this.#mayFactor = testOnly && !this.#hasRefs;
    this.#keepsGroups = !this.#mayFactor;
    this.#registers = 2 * (expression.groups + 1);
  }

  program(): Program {
    const { body, ignoreCase } = this.#expression;
    this.#emit(body, ignoreCase);
    this.#op(OP.accept);
    return {
      ops: Uint8Array.from(this.#ops),
      a: Int32Array.from(this.#a),
      b: Int32Array.from(this.#b),
      texts: this.#texts,
      sets: this.#sets,
      runs: this.#runs,
      looks: this.#looks,
      places: this.#places,
      choices: this.#choices,
      registers: this.#registers,
      hasRefs: this.#hasRefs,
      testOnly: this.#mayFactor,
    };
  }

  get #here(): number {
    return this.#ops.length;
  }

  #op(op: number, a = 0, b = 0): number {
    this.#work.spend(STEPS_PER_INSTRUCTION);
    if (this.#here >= this.#most) throw new RegexError('expression too large');
    this.#a.push(a);
    this.#b.push(b);
    return this.#ops.push(op) - 1;
  }

  #emit(node: Node, ignore: boolean): void {
    const set = this.#setOf(node, ignore);
    if (set !== undefined) return void this.#op(OP.set, this.#sets.push(set) - 1);
    switch (node.kind) {
      case 'dot':
      case 'set':
        return; // a set already
      case 'char':
        return this.#literal(String.fromCodePoint(node.code));
      case 'seq':
        return this.#sequence(node.parts, ignore);
      case 'alt':
        return this.#alternatives(node.options, ignore);
      case 'group':
        return this.#group(node.number, node.body, ignore);
      case 'case':
        return this.#emit(node.body, node.ignore);
      case 'at':
        return void this.#op(OP.at, this.#places.push(node.place) - 1);
      case 'look':
        return this.#look(node, ignore);
      case 'repeat':
        return this.#repeat(node, ignore);
      case 'ref':
        return void this.#op(OP.ref, 2 * node.group, Number(ignore));
    }
  }

  /** The set for a node of one character; undefined for all other nodes, and for plain letters. */
  #setOf(node: Node, ignore: boolean): CharSet | undefined {
    if (node.kind === 'dot') return node.all ? ANYTHING : NOT_NEWLINE;
    if (node.kind === 'set') return this.#charSets.of(node, ignore);
    return node.kind === 'char' && ignore ? this.#charSets.ofLetter(node.code) : undefined;
  }

  #literal(text: string): void {
    // The first letters are single instructions: they show where the rest of a repeat is worth a
    // try, and most texts differ in them.
    for (const unit of text.slice(0, LETTERS_ALONE).split('')) {
      this.#op(OP.char, unit.charCodeAt(0));
    }
    const rest = text.slice(LETTERS_ALONE);
    if (rest !== '') this.#op(OP.text, this.#texts.push(rest) - 1);
  }

  /** Joins adjacent letters into one text. */
  #sequence(parts: readonly Node[], ignore: boolean): void {
    let text = '';
    for (const part of parts) {
      if (part.kind === 'char' && this.#setOf(part, ignore) === undefined) {
        text += String.fromCodePoint(part.code);
        continue;
      }
      this.#literal(text);
      text = '';
      this.#emit(part, ignore);
    }
    this.#literal(text);
  }

  #alternatives(options: readonly Node[], ignore: boolean): void {
    const ends: number[] = [];
    const { starts, others } = this.#mayFactor
      ? factored(options, ignore)
      : { starts: [], others: options };
    if (starts.length > 0) {
      const choice = new Map<number, number>();
      const at = this.#op(OP.choose, this.#choices.push(choice) - 1);
      for (const { unit, node } of starts) {
        choice.set(unit, this.#here);
        this.#emit(node, ignore);
        ends.push(this.#op(OP.jump));
      }
      // -1: nothing is left to try.
      this.#b[at] = others.length === 0 ? -1 : this.#here;
    }
    others.forEach((option, i) => {
      const last = i === others.length - 1;
      const split = last ? -1 : this.#op(OP.split, this.#here + 1);
      this.#emit(option, ignore);
      if (last) return;
      ends.push(this.#op(OP.jump));
      this.#b[split] = this.#here;
    });
    for (const end of ends) this.#a[end] = this.#here;
  }

  #group(number: number | undefined, body: Node, ignore: boolean): void {
    if (number === undefined || !this.#keepsGroups) return this.#emit(body, ignore);
    this.#op(OP.save, 2 * number);
    this.#emit(body, ignore);
    this.#op(OP.save, 2 * number + 1);
  }

  #look(node: Node & { readonly kind: 'look' }, ignore: boolean): void {
    const back = node.ahead ? undefined : (widthOf(node.body) ?? 0);
    this.#op(OP.look, this.#looks.length);
    const at = this.#looks.push({ start: this.#here + 1, negated: node.negated, back }) - 1;
    const jump = this.#op(OP.jump);
    this.#looks[at] = { start: this.#here, negated: node.negated, back };
    this.#emit(node.body, ignore);
    this.#op(OP.accept);
    this.#a[jump] = this.#here;
  }

  #repeat(node: Node & { readonly kind: 'repeat' }, ignore: boolean): void {
    const { body, min, max, lazy } = node;
    if (max === 0) return;
    const unbounded = max === Number.POSITIVE_INFINITY;
    const one = this.#single(body, ignore);
    // Bounded counts of a set stay one instruction, since unrolled they could be very long.
    if (one !== undefined && (this.#runsWanted || !unbounded || min > 1)) {
      return void this.#op(OP.run, this.#runs.push({ set: one, min, max, lazy }) - 1);
    }
    const before = this.#here;
    const copies = unbounded ? Math.max(0, min - 1) : min;
    for (let i = 0; i < copies; i += 1) {
      this.#emit(body, ignore);
      if (this.#here === before) return; // an empty body, however often
    }
    if (unbounded) this.#loop(node, ignore);
    else this.#optional(node, max - min, ignore);
  }

  /** The set of a body of one character. */
  #single(body: Node, ignore: boolean): CharSet | undefined {
    if (body.kind === 'group' && (body.number === undefined || !this.#keepsGroups)) {
      return this.#single(body.body, ignore);
    }
    if (body.kind === 'seq' && body.parts.length === 1 && body.parts[0] !== undefined) {
      return this.#single(body.parts[0], ignore);
    }
    const set = this.#setOf(body, ignore);
    return set === undefined && body.kind === 'char' ? this.#charSets.ofPlain(body.code) : set;
  }

  /** Unrolls up to `times` optional repeats. */
  #optional({ body, lazy }: Node & { readonly kind: 'repeat' }, times: number, ignore: boolean) {
    const splits: number[] = [];
    for (let i = 0; i < times; i += 1) {
      splits.push(this.#op(OP.split));
      const start = this.#here;
      this.#emit(body, ignore);
      if (this.#here === start) break;
    }
    for (const split of splits) this.#turn(split, split + 1, this.#here, lazy);
  }

  /** A loop of none or more, or one or more; an empty round is the last. */
  #loop({ body, min, lazy }: Node & { readonly kind: 'repeat' }, ignore: boolean): void {
    const guard = canBeEmpty(body) ? this.#registers++ : undefined;
    const first = min === 0 ? this.#op(OP.split) : -1;
    const start = this.#here;
    if (guard !== undefined) this.#op(OP.save, guard);
    this.#emit(body, ignore);
    const unmoved = guard === undefined ? -1 : this.#op(OP.unmoved, guard);
    const again = this.#op(OP.split);
    this.#turn(again, start, this.#here, lazy);
    if (first >= 0) this.#turn(first, start, this.#here, lazy);
    if (unmoved >= 0) this.#b[unmoved] = this.#here;
  }

  /** Directs a split: first into the body, then to the exit; lazy splits the other way. */
  #turn(split: number, body: number, exit: number, lazy: boolean): void {
    this.#a[split] = lazy ? exit : body;
    this.#b[split] = lazy ? body : exit;
  }
}
