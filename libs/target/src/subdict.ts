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

/** Where so many values were new and fewer than half as many known, remembering costs more. */
const JUDGED_TRIAL = 500;

/**
 * Compiles `key:sub:value` into a test of grains or pillar
 * (Salt: salt/utils/data.py subdict_match). Every split into key and value is tried, so both may
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
    // Each path is the one before and a key more: where one leads nowhere, no longer one does.
    let at = data;
    for (const split of splits) {
      if (split.everything && this.#atEnd(data, split, depth)) return true;
      at = goneDeeper(at, split.key);
      if (at === undefined) return false;
      if (!split.everything && this.#atEnd(at, split, depth)) return true;
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

  #atEnd(found: Data, split: Split, depth: number): boolean {
    const { value } = split;
    split.test ??= this.#testOf(value);
    const { test } = split;
    if (typeof found === 'string') return test(found);
    if (isDict(found)) return sizeOf(found) > 0 && this.#inDict(found, value, depth);
    if (!Array.isArray(found)) return test(pythonText(found));
    return found.some(
      (item: Data) => (isDict(item) && this.#inDict(item, value, depth)) || test(pythonText(item)),
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
    return this.#testOf(pattern)(pythonText(value));
  }

  #testOf(pattern: string): (value: string) => boolean {
    let test = this.#tests.get(pattern);
    if (test === undefined) {
      test = remembering(compileValue(pattern.toLowerCase(), this.#comparison));
      this.#tests.set(pattern, test);
    }
    return test;
  }
}

/** Case never counts. Of a fleet most values are few: those are judged once. */
function remembering(test: (lowered: string) => boolean): (value: string) => boolean {
  const judged = new Map<string, boolean>();
  let known = 0;
  let worth = true;
  return (value) => {
    if (!worth) return test(value.toLowerCase());
    const before = judged.get(value);
    if (before !== undefined) {
      known += 1;
      return before;
    }
    const verdict = test(value.toLowerCase());
    if (judged.size < JUDGED_MAX && value.length <= JUDGED_LENGTH) judged.set(value, verdict);
    if (judged.size === JUDGED_TRIAL && known < JUDGED_TRIAL / 2) {
      worth = false;
      judged.clear();
    }
    return verdict;
  };
}

/** One way to read an expression: the keys so far lead to what `value` is compared with. */
interface Split {
  /** The whole data is what a first `*` leads to. */
  readonly everything: boolean;
  /** The last key of the path; those before it are the splits before. */
  readonly key: PathKey;
  readonly value: string;
  /** Compiled when it is first needed. */
  test: ((value: string) => boolean) | undefined;
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
  return parts.slice(0, -1).map((part, i) => {
    const everything = i === 0 && part === '*';
    const value = everything ? expression : parts.slice(i + 1).join(delimiter);
    return { everything, key: pathKey(part), value, test: undefined };
  });
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

/** One step into a dict or a list (Salt: salt/utils/data.py traverse_dict_and_list). */
function goneDeeper(at: Data, key: PathKey): Data {
  if (isDict(at)) return intoDict(at, key);
  return Array.isArray(at) ? intoList(at, key) : undefined;
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
