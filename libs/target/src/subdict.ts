import type { Data, Dict } from './data.ts';
import { isDict, keysOf, member, members, pythonText, sizeOf } from './data.ts';
import { compileGlob } from './glob.ts';
import { RegexError } from './python-regex/ast.ts';
import { compilePythonRegex } from './python-regex/compile.ts';
import { Work } from './work.ts';
import { yamlKey } from './yaml-key.ts';

/** How the value at the end of a path is compared. Case never counts. */
export type Comparison = 'glob' | 'regex' | 'exact';

/** Splits paths in Salt's expressions unless another character is named. */
export const DEFAULT_DELIMITER = ':';

// Each delimiter may end the key; real paths have a handful.
const MAX_PARTS = 64;
const MAX_DEPTH = 64;

/** The work of finding a key, in steps. */
const STEPS_PER_KEY = 3;

const STEPS_PER_PART = 100;

/** Values whose verdict is remembered during a target, and their longest. */
const JUDGED_MAX = 2_000;
const JUDGED_LENGTH = 200;

/** With this many new values and fewer than half as many known, remembering costs more. */
const JUDGED_TRIAL = 500;

/**
 * Compiles `key:sub:value` into a test of grains or pillar
 * (Salt: salt/utils/data.py subdict_match). Every split into key and value is tried, so both may
 * contain the delimiter; of a list any element may match; a last `*` asks whether the key exists.
 * A broken regular expression matches nothing. @throws WorkError by the test.
 */
export function compileSubdict(
  expression: string,
  comparison: Comparison,
  delimiter: string = DEFAULT_DELIMITER,
  making = Work.ofTarget(1),
): (data: Data, work?: Work) => boolean {
  const matcher = new SubdictMatcher(comparison);
  const splits = splitExpression(expression, delimiter, making);
  return (data, work = Work.ofTarget(1)) => matcher.matchesSplits(data, splits, { work, depth: 0 });
}

/** The depth in the data, and the work that is left. */
interface Here {
  readonly work: Work;
  readonly depth: number;
}

type ValueTest = (value: string, work: Work) => boolean;

class SubdictMatcher {
  readonly #comparison: Comparison;
  readonly #tests = new Map<string, ValueTest>();
  readonly #splits = new Map<string, readonly Split[]>();
  /** The text after each `*:`, made once: a new text would be hashed at each lookup. */
  readonly #afterStar = new Map<string, string>();

  constructor(comparison: Comparison) {
    this.#comparison = comparison;
  }

  #matches(data: Data, expression: string, at: Here): boolean {
    return this.matchesSplits(data, this.#splitsOf(expression, at.work), at);
  }

  matchesSplits(data: Data, splits: readonly Split[], here: Here): boolean {
    if (here.depth > MAX_DEPTH) return false;
    // Each path extends the one before by a key: if a path leads nowhere, no longer one does.
    let at = data;
    for (const split of splits) {
      here.work.spend(STEPS_PER_KEY);
      if (split.everything && this.#atEnd(data, split, here)) return true;
      at = goneDeeper(at, split.key, here.work);
      if (at === undefined) return false;
      if (!split.everything && this.#atEnd(at, split, here)) return true;
    }
    return false;
  }

  #splitsOf(expression: string, work: Work): readonly Split[] {
    let splits = this.#splits.get(expression);
    if (splits === undefined) {
      splits = splitExpression(expression, DEFAULT_DELIMITER, work);
      this.#splits.set(expression, splits);
    }
    return splits;
  }

  #atEnd(found: Data, split: Split, here: Here): boolean {
    const { value } = split;
    const { work } = here;
    split.test ??= this.#testOf(value, work);
    const { test } = split;
    if (typeof found === 'string') return test(found, work);
    if (isDict(found)) return sizeOf(found) > 0 && this.#inDict(found, value, here);
    if (!Array.isArray(found)) return test(pythonText(found, work), work);
    return found.some(
      (item: Data) =>
        (isDict(item) && this.#inDict(item, value, here)) || test(pythonText(item, work), work),
    );
  }

  #inDict(dict: Dict, given: string, here: Here): boolean {
    if (here.depth > MAX_DEPTH) return false;
    here.work.spend(STEPS_PER_KEY);
    const below = { work: here.work, depth: here.depth + 1 };
    const wildcard = given.startsWith('*:');
    const pattern = wildcard ? this.#textAfterStar(given) : given;
    if (pattern === '*' || member(dict, pattern) !== undefined) return true;
    // Like 3006.30, 3007.17 and 3008.5; older minions match the key alone.
    for (const key of keysOf(dict)) if (this.#value(key, pattern, here.work)) return true;
    if (this.#matches(dict, pattern, below)) return true;
    if (!wildcard) return false;
    for (const value of members(dict)) {
      if (this.#below(value, pattern, below)) return true;
    }
    return false;
  }

  #textAfterStar(given: string): string {
    let text = this.#afterStar.get(given);
    if (text === undefined) {
      text = given.slice(2);
      this.#afterStar.set(given, text);
    }
    return text;
  }

  #below(value: Data, pattern: string, here: Here): boolean {
    const { work } = here;
    if (isDict(value)) return this.#inDict(value, pattern, here);
    if (Array.isArray(value)) return value.some((item: Data) => this.#value(item, pattern, work));
    return this.#value(value, pattern, work);
  }

  #value(value: Data, pattern: string, work: Work): boolean {
    return this.#testOf(pattern, work)(pythonText(value, work), work);
  }

  #testOf(pattern: string, work: Work): ValueTest {
    let test = this.#tests.get(pattern);
    if (test === undefined) {
      test = remembering(compileValue(pattern.toLowerCase(), this.#comparison, work));
      this.#tests.set(pattern, test);
    }
    return test;
  }
}

/** A fleet has few distinct values, so each is judged once. Case never counts. */
function remembering(test: ValueTest): ValueTest {
  const judged = new Map<string, boolean>();
  let known = 0;
  let worth = true;
  return (value, work) => {
    work.spend(1 + (value.length >> 4));
    if (!worth) return test(value.toLowerCase(), work);
    const before = judged.get(value);
    if (before !== undefined) {
      known += 1;
      return before;
    }
    const verdict = test(value.toLowerCase(), work);
    if (judged.size < JUDGED_MAX && value.length <= JUDGED_LENGTH) judged.set(value, verdict);
    if (judged.size === JUDGED_TRIAL && known < JUDGED_TRIAL / 2) {
      worth = false;
      judged.clear();
    }
    return verdict;
  };
}

/** A split of an expression: the keys up to `key` lead to the value to compare with `value`. */
interface Split {
  /** A first `*` leads to the whole data. */
  readonly everything: boolean;
  /** The last key of the path; earlier splits have the keys before it. */
  readonly key: PathKey;
  readonly value: string;
  /** Compiled when it is first needed. */
  test: ValueTest | undefined;
}

/** A part of a path, and its other readings. */
interface PathKey {
  readonly text: string;
  readonly loaded: number | bigint | boolean | undefined;
  readonly index: number | undefined;
}

function pathKey(text: string): PathKey {
  const index = /^\s*[-+]?[0-9]+\s*$/.test(text) ? Number(text) : undefined;
  return { text, loaded: yamlKey(text), index };
}

function splitExpression(expression: string, delimiter: string, work: Work): Split[] {
  const parts = delimiter === '' ? [] : expression.split(delimiter);
  if (parts.length > MAX_PARTS) return [];
  work.spend(parts.length * (STEPS_PER_PART + (expression.length >> 4)));
  return parts.slice(0, -1).map((part, i) => {
    const everything = i === 0 && part === '*';
    const value = everything ? expression : parts.slice(i + 1).join(delimiter);
    return { everything, key: pathKey(part), value, test: undefined };
  });
}

function compileValue(pattern: string, comparison: Comparison, work: Work): ValueTest {
  if (comparison === 'exact') return (value) => value === pattern;
  if (comparison === 'glob') return compileGlob(pattern);
  try {
    return compilePythonRegex(pattern, work);
  } catch (error) {
    if (error instanceof RegexError) return () => false;
    throw error;
  }
}

/** Takes one step into a dict or a list (Salt: salt/utils/data.py traverse_dict_and_list). */
function goneDeeper(at: Data, key: PathKey, work: Work): Data {
  if (isDict(at)) return intoDict(at, key);
  if (!Array.isArray(at)) return undefined;
  work.spend(at.length);
  return intoList(at, key);
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
