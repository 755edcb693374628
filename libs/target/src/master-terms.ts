import type { Data } from './data.ts';
import { compileGlob } from './glob.ts';
import { compileIpcidr } from './ipcidr.ts';
import { pillarTerm } from './pillar-terms.ts';
import { compilePythonRegex } from './python-regex/compile.ts';
import type { Comparison } from './subdict.ts';
import { compileSubdict, DEFAULT_DELIMITER } from './subdict.ts';
import type { TargetView } from './target.ts';
import { TargetError } from './target.ts';
import { plainText } from './words.ts';
import { type Work, WorkError } from './work.ts';

/** Longest expression besides lists: real targets have some hundred characters. */
const MAX_LENGTH = 65_536;

/** The work of reading a term, looking up a minion, finding a name of a list, in steps. */
const STEPS_PER_TERM = 20;
const STEPS_PER_LOOK = 5;
const STEPS_PER_NAME = 20;

/** The minions that a term is about, and the work that is left for it. */
export interface Asked {
  readonly view: TargetView;
  readonly work: Work;
}

/** The minions that one term of an expression expects, and listed ids without an accepted key. */
export interface CheckedSets {
  readonly minions: ReadonlySet<string>;
  readonly missing: readonly string[];
}

/** The target types that are a single expression. */
export type TextType =
  'glob' | 'pcre' | 'grain' | 'grain_pcre' | 'pillar' | 'pillar_pcre' | 'pillar_exact' | 'ipcidr';

/** True if an accepted minion is meant. */
export type IdTest = (id: string) => boolean;

/** The accepted minions that match one expression. @throws RegexError, WorkError. */
export function checkText(
  type: TextType,
  text: string,
  asked: Asked,
  delimiter?: string,
): ReadonlySet<string> {
  return select(asked.view.accepted, textTest(type, text, asked, delimiter), asked.work);
}

/**
 * The same as a test of one minion; `negated` if the whole expression excludes the term.
 * @throws RegexError for a broken `pcre`; WorkError, also by the test
 */
export function textTest(
  type: TextType,
  text: string,
  { view, work }: Asked,
  delimiter: string = DEFAULT_DELIMITER,
  negated = false,
): IdTest {
  work.spend(STEPS_PER_TERM + text.length);
  if (text.length > MAX_LENGTH) throw new WorkError('the expression is too long');
  switch (type) {
    case 'glob': {
      const test = compileGlob(text);
      return (id) => {
        work.spend(1);
        return test(id, work);
      };
    }
    case 'pcre': {
      const test = compilePythonRegex(text, work);
      return (id) => test(id, work);
    }
    default: {
      if (isOpen(type, text, view, delimiter)) {
        return () => {
          work.spend(1);
          return !negated;
        };
      }
      const greedy = view.greedy ?? true;
      return view.dataCache === false
        ? () => greedy
        : dataTest(type, text, { view, work }, delimiter);
    }
  }
}

/** True if a term about pillars is left open, see {@link TargetView.whateverPillars}. */
function isOpen(type: TextType, text: string, view: TargetView, delimiter: string): boolean {
  if (view.whateverPillars === undefined || !type.startsWith('pillar')) return false;
  const engine = type === 'pillar_pcre' ? 'J' : 'I';
  return !view.whateverPillars.has(pillarTerm(engine, delimiter, text));
}

function dataTest(type: TextType, text: string, asked: Asked, delimiter: string): IdTest {
  if (type === 'ipcidr') {
    const test = compileIpcidr(text);
    return test === undefined ? () => false : bankTest('grains', test, asked);
  }
  const bank = type.startsWith('grain') ? 'grains' : 'pillar';
  return bankTest(bank, compileSubdict(text, comparisonOf(type), delimiter, asked.work), asked);
}

function comparisonOf(type: TextType): Comparison {
  if (type === 'grain_pcre' || type === 'pillar_pcre') return 'regex';
  return type === 'pillar_exact' ? 'exact' : 'glob';
}

function bankTest(
  bank: 'grains' | 'pillar',
  test: (data: unknown, work: Work) => boolean,
  { view, work }: Asked,
): IdTest {
  // Salt does not know a minion without grains, even for a target about pillar.
  const keep = (view.greedy ?? true) && view.cacheless === 'keep';
  return (id) => {
    work.spend(STEPS_PER_LOOK);
    const grains = view.grains(id);
    const data = bank === 'grains' ? grains : view.pillar(id);
    return isKept(grains) && isKept(data) ? work.onData(test, data) : keep;
  };
}

function isKept(data: Data): boolean {
  return data !== undefined && data !== null;
}

/** The ids that pass a test. @throws WorkError. */
export function select(ids: Iterable<string>, test: IdTest, work: Work): Set<string> {
  const chosen = new Set<string>();
  for (const id of ids) if (work.forMinion(test, id)) chosen.add(id);
  return chosen;
}

/** The ids of a list that are accepted, and those that are not. @throws TargetError, WorkError. */
export function checkList(tgt: unknown, view: TargetView, work: Work): CheckedSets {
  // Each character may be a comma.
  work.spend(typeof tgt === 'string' ? tgt.length : 0);
  const ids = typeof tgt === 'string' ? tgt.split(',').filter((id) => id !== '') : tgt;
  if (!Array.isArray(ids)) throw new TargetError('neither text nor a list');
  work.spend(STEPS_PER_NAME * ids.length);
  const minions = new Set<string>();
  const missing: string[] = [];
  for (const one of ids) {
    const id = plainText(one);
    if (view.accepted.has(id)) minions.add(id);
    else missing.push(id);
  }
  return { minions, missing };
}
