import { Work } from '../work.ts';
import { assemble } from './assemble.ts';
import { Machine } from './machine.ts';
import { parsePythonRegex } from './parse.ts';
import type { Program } from './program.ts';

/**
 * Says whether an expression matches at the start of a text. Several texts may share the work;
 * without it each has its own.
 * @throws WorkError where that is too little
 */
export type TextTest = (text: string, work?: Work) => boolean;

// What it takes to run one instruction, at worst, and to read one character of an expression.
const STEPS_PER_INSTRUCTION = 2;
const STEPS_PER_CHARACTER = 20;
// What it takes to begin one: a compound target may hold thousands.
const STEPS_PER_EXPRESSION = 300;

/**
 * Compiles an expression of Python's; the test says what `re.match` says (anchored at the
 * start, not at the end).
 * @throws RegexError for what Python refuses, and for what is not supported; WorkError.
 */
export function compilePythonRegex(pattern: string, given?: Work): TextTest {
  const making = given ?? Work.ofText(pattern.length);
  making.spend(STEPS_PER_EXPRESSION + STEPS_PER_CHARACTER * pattern.length);
  const expression = parsePythonRegex(pattern);
  let linear: Program | undefined;
  const machine = new Machine(
    assemble(expression, { testOnly: true, runs: true }, making),
    () =>
      (linear ??= assemble(
        expression,
        { testOnly: true, runs: false },
        Work.ofText(pattern.length),
      )),
  );
  return (text, work = Work.ofText(text.length)) => {
    try {
      return machine.matches(text, 0, Math.floor(work.left / STEPS_PER_INSTRUCTION));
    } finally {
      work.spend(STEPS_PER_INSTRUCTION * machine.steps);
    }
  };
}
