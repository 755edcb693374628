import { RE2JS } from 're2js';
import { RegexError } from './ast.ts';
import type { Expression } from './ast.ts';
import { parsePythonRegex } from './parse.ts';
import { toJs } from './to-js.ts';
import { toRe2 } from './to-re2.ts';

/** Says whether an expression matches at the start of a text. */
export type TextTest = (text: string) => boolean;

// RE2 works in linear time, but not without end.
const MAX_TEXT_LENGTH = 1_048_576;
// The backtracking engine: see the degree in to-js.ts.
const MAX_BACKTRACKED_LENGTH = 512;

/**
 * Compiles an expression of Python's; the test says what `re.match` says (anchored at the
 * start, not at the end). RE2 where it can do the expression, else JavaScript's own engine for
 * expressions that cannot run away, on texts up to 512 characters.
 * @throws RegexError for what Python refuses and for what neither engine can do safely.
 */
export function compilePythonRegex(pattern: string): TextTest {
  const expression = parsePythonRegex(pattern);
  return compileRe2(expression) ?? compileJs(expression);
}

function compileRe2(expression: Expression): TextTest | undefined {
  let printed: string;
  try {
    printed = toRe2(expression);
  } catch (error) {
    if (error instanceof RegexError) return undefined;
    throw error;
  }
  try {
    const compiled = RE2JS.compile(printed);
    return (text) => text.length <= MAX_TEXT_LENGTH && compiled.test(text);
  } catch {
    // Too large a program for RE2 (repeats of repeats): the other engine decides.
    return undefined;
  }
}

function compileJs(expression: Expression): TextTest {
  const compiled = toJs(expression);
  return (text) => {
    compiled.lastIndex = 0; // sticky: the match must begin here
    return text.length <= MAX_BACKTRACKED_LENGTH && compiled.test(text);
  };
}
