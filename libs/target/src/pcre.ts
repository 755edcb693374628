import { RegexError } from './python-regex/ast.ts';
import type { TextTest } from './python-regex/compile.ts';
import { compilePythonRegex } from './python-regex/compile.ts';

const nothing: TextTest = () => false;

/**
 * Compiles a Python expression as `re.match` reads it: anchored at the start only. A broken or
 * unsafe expression matches nothing.
 */
export function compilePcre(pattern: string): TextTest {
  try {
    return compilePythonRegex(pattern);
  } catch (error) {
    if (error instanceof RegexError) return nothing;
    throw error;
  }
}

/**
 * Compiles an expression that must match the whole text, as in signing files and ACLs. Salt
 * pastes it between `\A` and `\Z`, where `web|db` also accepts `web-of-somebody-else`; here
 * the anchors apply to all alternatives.
 */
export function compilePcreWhole(pattern: string): TextTest {
  return compilePcre(`\\A(?:${pattern})\\Z`);
}

/** True where the text begins with a match. */
export function matchPcre(pattern: string, text: string): boolean {
  return compilePcre(pattern)(text);
}

/** True where the text as a whole matches. */
export function matchPcreWhole(pattern: string, text: string): boolean {
  return compilePcreWhole(pattern)(text);
}
