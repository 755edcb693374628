import { Work } from '../work.ts';
import { assemble } from './assemble.ts';
import type { Expression } from './ast.ts';
import { Machine } from './machine.ts';
import { type Flags, parsePythonRegex } from './parse.ts';
import type { Program } from './program.ts';
import type { SearchOptions } from './starts.ts';

/**
 * True if an expression matches at the start of a text. Several texts may share the work; by
 * default each has its own.
 * @throws WorkError if the work is used up
 */
export type TextTest = (text: string, work?: Work) => boolean;

// The work of one instruction, at worst, and of reading one character of an expression.
const STEPS_PER_INSTRUCTION = 2;
const STEPS_PER_CHARACTER = 20;
// The work of beginning with a text.
const STEPS_PER_RUN = 10;
// The work of beginning an expression: a compound target may have thousands.
const STEPS_PER_EXPRESSION = 300;

/**
 * Compiles a Python expression; the test returns the result of `re.match` (anchored at the start,
 * not at the end).
 * @throws RegexError for an invalid or unsupported expression; WorkError.
 */
export function compilePythonRegex(pattern: string, given?: Work): TextTest {
  const making = given ?? Work.ofText(pattern.length);
  const machine = machineOf(expressionOf(pattern, {}, making), true, making);
  return (text, work = Work.ofText(text.length)) => run(machine, text, ANCHORED, work);
}

const ANCHORED: Place = { from: 0, anchored: true, advance: false };

/** Where a machine looks. */
export type Place = Omit<SearchOptions, 'limit'>;

/** Reads an expression. @throws RegexError, WorkError. */
export function expressionOf(pattern: string, flags: Partial<Flags>, work: Work): Expression {
  work.spend(STEPS_PER_EXPRESSION + STEPS_PER_CHARACTER * pattern.length);
  return parsePythonRegex(pattern, flags);
}

/**
 * A machine for an expression; `testOnly` if groups are not needed. @throws RegexError, WorkError.
 */
export function machineOf(expression: Expression, testOnly: boolean, work: Work): Machine {
  let linear: Program | undefined;
  return new Machine(
    assemble(expression, { testOnly, runs: true }, work),
    () => (linear ??= assemble(expression, { testOnly, runs: false }, Work.ofText(0))),
  );
}

/** True if a machine finds a match; its steps are taken from the work. @throws WorkError. */
export function run(machine: Machine, text: string, place: Place, work: Work): boolean {
  work.spend(STEPS_PER_RUN);
  try {
    // Named one by one: a spread takes longer than most runs.
    const { from, anchored, advance } = place;
    const limit = Math.floor(work.left / STEPS_PER_INSTRUCTION);
    return machine.finds(text, { from, anchored, advance, limit });
  } finally {
    work.spend(STEPS_PER_INSTRUCTION * machine.steps);
  }
}
