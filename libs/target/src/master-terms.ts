import type { Data } from './data.ts';
import { compileGlob } from './glob.ts';
import { compileIpcidr } from './ipcidr.ts';
import { pillarTerm } from './pillar-terms.ts';
import { compilePythonRegex } from './python-regex/compile.ts';
import { compileSubdict, DEFAULT_DELIMITER } from './subdict.ts';
import type { Comparison } from './subdict.ts';
import { TargetError } from './target.ts';
import type { TargetView } from './target.ts';

/** Whom one term of an expression expects, and the ids of a list that have no accepted key. */
export interface CheckedSets {
  readonly minions: ReadonlySet<string>;
  readonly missing: readonly string[];
}

/** The target types that are one expression of text. */
export type TextType =
  'glob' | 'pcre' | 'grain' | 'grain_pcre' | 'pillar' | 'pillar_pcre' | 'pillar_exact' | 'ipcidr';

/** Whether an accepted minion is meant. */
export type IdTest = (id: string) => boolean;

/** The accepted minions that match one expression. @throws RegexError for a broken `pcre`. */
export function checkText(
  type: TextType,
  text: string,
  view: TargetView,
  delimiter?: string,
): ReadonlySet<string> {
  return select(view.accepted, textTest(type, text, view, delimiter));
}

/**
 * The same minion by minion; `negated` is whether the whole excludes whom the text names.
 * @throws RegexError for a broken `pcre`.
 */
export function textTest(
  type: TextType,
  text: string,
  view: TargetView,
  delimiter: string = DEFAULT_DELIMITER,
  negated = false,
): IdTest {
  switch (type) {
    case 'glob':
      return compileGlob(text);
    case 'pcre':
      return compilePythonRegex(text);
    default: {
      if (isOpen(type, text, view, delimiter)) return () => !negated;
      const greedy = view.greedy ?? true;
      return view.dataCache === false ? () => greedy : dataTest(type, text, view, delimiter);
    }
  }
}

/** Whether a term about pillars is left open, see {@link TargetView.whateverPillars}. */
function isOpen(type: TextType, text: string, view: TargetView, delimiter: string): boolean {
  if (view.whateverPillars === undefined || !type.startsWith('pillar')) return false;
  const engine = type === 'pillar_pcre' ? 'J' : 'I';
  return !view.whateverPillars.has(pillarTerm(engine, delimiter, text));
}

function dataTest(type: TextType, text: string, view: TargetView, delimiter: string): IdTest {
  if (type === 'ipcidr') {
    const test = compileIpcidr(text);
    return test === undefined ? () => false : bankTest('grains', test, view);
  }
  const bank = type.startsWith('grain') ? 'grains' : 'pillar';
  return bankTest(bank, compileSubdict(text, comparisonOf(type), delimiter), view);
}

function comparisonOf(type: TextType): Comparison {
  if (type === 'grain_pcre' || type === 'pillar_pcre') return 'regex';
  return type === 'pillar_exact' ? 'exact' : 'glob';
}

function bankTest(
  bank: 'grains' | 'pillar',
  test: (data: unknown) => boolean,
  view: TargetView,
): IdTest {
  // Salt asks who has grains for who is known at all, also where a target is about pillar.
  const keep = (view.greedy ?? true) && view.cacheless === 'keep';
  return (id) => {
    const grains = view.grains(id);
    const data = bank === 'grains' ? grains : view.pillar(id);
    return isKept(grains) && isKept(data) ? test(data) : keep;
  };
}

function isKept(data: Data): boolean {
  return data !== undefined && data !== null;
}

/** The ids for which a test holds. */
export function select(ids: Iterable<string>, test: IdTest): Set<string> {
  const chosen = new Set<string>();
  for (const id of ids) if (test(id)) chosen.add(id);
  return chosen;
}

/** The ids of a list that are accepted, and those that are not. @throws TargetError. */
export function checkList(tgt: unknown, view: TargetView): CheckedSets {
  const ids = typeof tgt === 'string' ? tgt.split(',').filter((id) => id !== '') : tgt;
  if (!Array.isArray(ids)) throw new TargetError('neither text nor a list');
  const minions = new Set<string>();
  const missing: string[] = [];
  for (const id of ids.map(String)) {
    if (view.accepted.has(id)) minions.add(id);
    else missing.push(id);
  }
  return { minions, missing };
}
