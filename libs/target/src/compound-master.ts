import type { Data } from './data.ts';
import { isExact } from './glob.ts';
import type { Asked, CheckedSets, IdTest } from './master-terms.ts';
import { checkList, select, textTest } from './master-terms.ts';
import { expandNodegroup, OPERATORS } from './nodegroups.ts';
import type { TargetView } from './target.ts';
import { TargetError } from './target.ts';
import type { Term } from './words.ts';
import { parseTerm, splitWords } from './words.ts';
import type { Work } from './work.ts';

const MAX_DEPTH = 200;
/** Fewer terms are as fast one after another. */
const MIN_NAMES = 4;

type Token = IdTest | '&' | '|' | '-' | '(' | ')';

const every: IdTest = () => true;

/**
 * Judges a compound expression as a master does: each term is a set of ids, joined by `&` and `|`.
 * `not X` is every minion without X (Salt: salt/utils/minions.py _check_compound_minions). The sets
 * are never built: each id is tested, and only by as many terms as it needs.
 * @throws TargetError or RegexError if the expression is broken, WorkError.
 */
export function compoundOnMaster(
  tgt: unknown,
  view: TargetView,
  work: Work,
  pillarExact: boolean,
): CheckedSets {
  const words = splitWords(tgt, work);
  if (words === undefined) throw new TargetError('neither text nor a list');
  if (view.dataCache === false) return { minions: view.accepted, missing: [] };
  const builder = new TokenBuilder({ view: readingOnce(view), work }, pillarExact);
  const queue = words.toReversed();
  for (let word = queue.pop(); word !== undefined; word = queue.pop()) {
    if (OPERATORS.has(word)) builder.operator(word);
    else {
      const term = parseTerm(word);
      if (term.engine !== 'N') builder.term(term);
      else queue.push(...expandNodegroup(term.pattern, view.nodegroups, work).reverse());
    }
  }
  const test = builder.finish().compile();
  return { minions: select(view.accepted, test, work), missing: builder.missing };
}

/** Terms are tested minion by minion, so the grains of each are looked up once. */
function readingOnce(view: TargetView): TargetView {
  let last: string | undefined;
  let grains: Data;
  const read = (id: string): Data => {
    if (id === last) return grains;
    grains = view.grains(id);
    last = id;
    return grains;
  };
  return { ...view, grains: read, pillar: (id) => view.pillar(id) };
}

/** Writes the expression that Salt hands to Python, parenthesis by parenthesis. */
class TokenBuilder {
  readonly missing: string[] = [];
  readonly #asked: Asked;
  readonly #pillarExact: boolean;
  readonly #tokens: Token[] = [];
  readonly #open: ('(' | '-')[] = [];
  /** How many of the open terms exclude. */
  #nots = 0;
  readonly #names = new Map<IdTest, string>();

  constructor(asked: Asked, pillarExact: boolean) {
    this.#asked = asked;
    this.#pillarExact = pillarExact;
  }

  operator(word: string): void {
    const last = this.#tokens.at(-1);
    const binary = word === 'and' || word === 'or';
    if (last === undefined && (binary || word === ')'))
      throw new TargetError(`begins with ${word}`);
    if (last === '(' && binary) throw new TargetError(`${word} behind a parenthesis`);
    if (word === 'and') this.#tokens.push('&');
    else if (word === 'or') this.#tokens.push('|');
    else if (word === 'not') this.#not(last);
    else if (word === '(') {
      this.#tokens.push('(');
      this.#open.push('(');
    } else this.#close();
  }

  #not(last: Token | undefined): void {
    const joined = last === undefined || last === '&' || last === '|' || last === '(';
    if (!joined) this.#tokens.push('&');
    this.#tokens.push('(', every, '-');
    this.#open.push('-');
    this.#nots += 1;
  }

  #close(): void {
    if (this.#open.at(-1) !== '(') throw new TargetError('unexpected right parenthesis');
    this.#tokens.push(')');
    this.#open.pop();
    this.#closeNot();
  }

  /** `not` takes one term or one pair of parentheses. */
  #closeNot(): void {
    if (this.#open.at(-1) !== '-') return;
    this.#tokens.push(')');
    this.#open.pop();
    this.#nots -= 1;
  }

  term(term: Term): void {
    const negated = this.#tokens.at(-1) === '-';
    const { test, missing } = testOf(term, this.#asked, this.#pillarExact, this.#nots % 2 === 1);
    // An excluded list need not exist.
    if (!negated) this.missing.push(...missing);
    this.#tokens.push(test);
    if (term.engine === undefined && isExact(term.pattern)) this.#names.set(test, term.pattern);
    this.#closeNot();
  }

  /** Missing closing parentheses are added, as Salt does. */
  finish(): SetExpression {
    const tokens = [...this.#tokens, ...this.#open.map(() => ')' as const)];
    return new SetExpression(tokens, this.#names, this.#asked.work);
  }
}

interface TermTest {
  readonly test: IdTest;
  readonly missing: readonly string[];
}

function testOf(term: Term, asked: Asked, pillarExact: boolean, excluded: boolean): TermTest {
  const { engine, pattern, delimiter } = term;
  const found = (test: IdTest): TermTest => ({ test, missing: [] });
  switch (engine) {
    case undefined:
      return found(textTest('glob', pattern, asked));
    case 'G':
      return found(textTest('grain', pattern, asked, delimiter));
    case 'P':
      return found(textTest('grain_pcre', pattern, asked, delimiter));
    case 'I':
    case 'J': {
      const regex = engine === 'J' ? 'pillar_pcre' : 'pillar';
      const type = pillarExact ? 'pillar_exact' : regex;
      return found(textTest(type, pattern, asked, delimiter, excluded));
    }
    case 'L': {
      const { minions, missing } = checkList(pattern, asked.view, asked.work);
      const inList: IdTest = (id) => {
        asked.work.spend(1);
        return minions.has(id);
      };
      return { test: inList, missing };
    }
    case 'S':
      return found(textTest('ipcidr', pattern, asked));
    case 'E':
      return found(textTest('pcre', pattern, asked));
    case 'R':
      return found(every); // expects too many rather than too few
    case 'T':
    case 'M':
      return found(() => {
        asked.work.spend(1);
        return false; // no resources are known
      });
    case 'N':
      throw new TargetError('a nodegroup that was not expanded');
  }
}

/** Python's sets: `-` binds tighter than `&`, `&` tighter than `|`. */
class SetExpression {
  readonly #tokens: readonly Token[];
  /** The terms that name one minion each. */
  readonly #names: ReadonlyMap<IdTest, string>;
  readonly #work: Work;
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly Token[], names: ReadonlyMap<IdTest, string>, work: Work) {
    this.#tokens = tokens;
    this.#names = names;
    this.#work = work;
  }

  /** @throws TargetError where Python would find no expression. */
  compile(): IdTest {
    const test = this.#or();
    if (this.#at < this.#tokens.length) throw new TargetError('a term without an operator');
    return test;
  }

  #or(): IdTest {
    const operands = this.#operands('|', () => this.#and());
    const [first, ...others] = operands.length < MIN_NAMES ? operands : this.#byName(operands);
    if (others.length === 0) return first;
    return (id) => first(id) || others.some((test) => test(id));
  }

  /** `a or b or c …` takes one lookup for each minion, for any number of names. */
  #byName(operands: readonly IdTest[]): [IdTest, ...IdTest[]] {
    const names = new Set(operands.flatMap((test) => this.#names.get(test) ?? []));
    const named: IdTest = (id) => {
      this.#work.spend(1);
      return names.has(id);
    };
    return [named, ...operands.filter((test) => !this.#names.has(test))];
  }

  #and(): IdTest {
    const [first, ...others] = this.#operands('&', () => this.#minus());
    if (others.length === 0) return first;
    return (id) => first(id) && others.every((test) => test(id));
  }

  #minus(): IdTest {
    const [first, ...others] = this.#operands('-', () => this.#atom());
    if (others.length === 0) return first;
    return (id) => first(id) && !others.some((test) => test(id));
  }

  /** Lists rather than pairs: a thousand terms must not be a thousand calls deep. */
  #operands(operator: '|' | '&' | '-', next: () => IdTest): [IdTest, ...IdTest[]] {
    const operands: [IdTest, ...IdTest[]] = [next()];
    while (this.#tokens[this.#at] === operator) {
      this.#at += 1;
      operands.push(next());
    }
    return operands;
  }

  #atom(): IdTest {
    const token = this.#tokens[this.#at];
    this.#at += 1;
    if (token !== undefined && typeof token !== 'string') return token;
    if (token !== '(') throw new TargetError('a term is missing');
    this.#depth += 1;
    if (this.#depth >= MAX_DEPTH) throw new TargetError('nested too deeply');
    const test = this.#or();
    this.#depth -= 1;
    if (this.#tokens[this.#at] !== ')') throw new TargetError('a parenthesis is missing');
    this.#at += 1;
    return test;
  }
}
