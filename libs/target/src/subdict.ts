import { isDict, member, members, pythonText, sizeOf } from './data.ts';
import type { Data, Dict } from './data.ts';
import { compileGlob } from './glob.ts';
import { RegexError } from './python-regex/ast.ts';
import { compilePythonRegex } from './python-regex/compile.ts';
import { yamlKey } from './yaml-key.ts';

/** How the value at the end of a path is compared. Case never counts. */
export type Comparison = 'glob' | 'regex' | 'exact';

/** Splits paths in Salt's expressions unless another character is named. */
export const DEFAULT_DELIMITER = ':';

// Each delimiter is a possible end of the key; real paths have a handful.
const MAX_PARTS = 64;
const MAX_DEPTH = 64;

/** Values whose verdict is remembered while an expression is in use, and their longest. */
const JUDGED_MAX = 2_000;
const JUDGED_LENGTH = 200;

/**
 * Compiles `key:sub:value` into a test of grains or pillar
 * (Salt: salt/utils/data.py subdict_match). Longer keys are tried first, so keys and values may
 * hold the delimiter; of a list any element may match; a last `*` asks whether the key exists.
 * A broken regular expression matches nothing.
 */
export function compileSubdict(
  expression: string,
  comparison: Comparison,
  delimiter: string = DEFAULT_DELIMITER,
): (data: Data) => boolean {
  const matcher = new SubdictMatcher(comparison);
  const splits = matcher.splitsOf(expression, delimiter);
  return (data) => matcher.matchesSplits(data, splits, 0);
}

class SubdictMatcher {
  readonly #comparison: Comparison;
  readonly #tests = new Map<string, (value: string) => boolean>();
  readonly #splits = new Map<string, readonly Split[]>();

  constructor(comparison: Comparison) {
    this.#comparison = comparison;
  }

  matches(data: Data, expression: string, delimiter: string, depth: number): boolean {
    return this.matchesSplits(data, this.splitsOf(expression, delimiter), depth);
  }

  matchesSplits(data: Data, splits: readonly Split[], depth: number): boolean {
    if (depth > MAX_DEPTH) return false;
    for (const { everything, path, value } of splits) {
      const found = everything ? data : traverse(data, path);
      if (found !== undefined && this.#atEnd(found, value, depth)) return true;
    }
    return false;
  }

  splitsOf(expression: string, delimiter: string): readonly Split[] {
    const id = delimiter + expression;
    let splits = this.#splits.get(id);
    if (splits === undefined) {
      splits = splitExpression(expression, delimiter);
      this.#splits.set(id, splits);
    }
    return splits;
  }

  #atEnd(found: Data, pattern: string, depth: number): boolean {
    if (isDict(found)) return sizeOf(found) > 0 && this.#inDict(found, pattern, depth);
    if (!Array.isArray(found)) return this.#value(found, pattern);
    return found.some(
      (item: Data) =>
        (isDict(item) && this.#inDict(item, pattern, depth)) || this.#value(item, pattern),
    );
  }

  #inDict(dict: Dict, given: string, depth: number): boolean {
    if (depth > MAX_DEPTH) return false;
    const wildcard = given.startsWith('*:');
    const pattern = wildcard ? given.slice(2) : given;
    if (pattern === '*' || member(dict, pattern) !== undefined) return true;
    if (this.matches(dict, pattern, DEFAULT_DELIMITER, depth + 1)) return true;
    if (!wildcard) return false;
    for (const value of members(dict)) {
      if (this.#below(value, pattern, depth)) return true;
    }
    return false;
  }

  #below(value: Data, pattern: string, depth: number): boolean {
    if (isDict(value)) return this.#inDict(value, pattern, depth + 1);
    if (Array.isArray(value)) return value.some((item: Data) => this.#value(item, pattern));
    return this.#value(value, pattern);
  }

  #value(value: Data, pattern: string): boolean {
    let test = this.#tests.get(pattern);
    if (test === undefined) {
      test = remembering(compileValue(pattern.toLowerCase(), this.#comparison));
      this.#tests.set(pattern, test);
    }
    return test(pythonText(value));
  }
}

/** Case never counts. Of a fleet most values are few: those are judged once. */
function remembering(test: (lowered: string) => boolean): (value: string) => boolean {
  const judged = new Map<string, boolean>();
  return (value) => {
    const known = judged.get(value);
    if (known !== undefined) return known;
    const verdict = test(value.toLowerCase());
    if (judged.size < JUDGED_MAX && value.length <= JUDGED_LENGTH) judged.set(value, verdict);
    return verdict;
  };
}

interface Split {
  readonly everything: boolean;
  readonly path: readonly PathKey[];
  readonly value: string;
}

/** A part of a path, and what else it may stand for. */
interface PathKey {
  readonly text: string;
  readonly loaded: number | bigint | boolean | undefined;
  readonly index: number | undefined;
}

function pathKey(text: string): PathKey {
  const index = /^\s*[-+]?[0-9]+\s*$/.test(text) ? Number(text) : undefined;
  return { text, loaded: yamlKey(text), index };
}

function splitExpression(expression: string, delimiter: string): Split[] {
  const parts = delimiter === '' ? [] : expression.split(delimiter);
  if (parts.length > MAX_PARTS) return [];
  const keys = parts.map(pathKey);
  const splits: Split[] = [];
  for (let i = parts.length - 1; i > 0; i -= 1) {
    const path = keys.slice(0, i);
    const everything = i === 1 && parts[0] === '*';
    const value = everything ? expression : parts.slice(i).join(delimiter);
    splits.push({ everything, path, value });
  }
  return splits;
}

function compileValue(pattern: string, comparison: Comparison): (value: string) => boolean {
  if (comparison === 'exact') return (value) => value === pattern;
  if (comparison === 'glob') return compileGlob(pattern);
  try {
    return compilePythonRegex(pattern);
  } catch (error) {
    if (error instanceof RegexError) return () => false;
    throw error;
  }
}

/** Walks into dicts and lists (Salt: salt/utils/data.py traverse_dict_and_list). */
function traverse(data: Data, path: readonly PathKey[]): Data {
  let at = data;
  for (const key of path) {
    at = Array.isArray(at) ? intoList(at, key) : isDict(at) ? intoDict(at, key) : undefined;
    if (at === undefined) return undefined;
  }
  return at;
}

function intoDict(dict: Dict, { text, loaded }: PathKey): Data {
  const found = member(dict, text);
  return found === undefined && loaded !== undefined ? member(dict, loaded) : found;
}

function intoList(list: readonly Data[], { text, index }: PathKey): Data {
  for (const item of list) {
    const found = isDict(item) ? member(item, index ?? text) : undefined;
    if (found !== undefined) return found;
  }
  return index === undefined ? undefined : list.at(index);
}
