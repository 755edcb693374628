import { checkList, checkText } from './master-terms.ts';
import type { CheckedSets } from './master-terms.ts';
import { expandNodegroup, OPERATORS } from './nodegroups.ts';
import { TargetError } from './target.ts';
import type { TargetView } from './target.ts';
import { parseTerm, splitWords } from './words.ts';
import type { Term } from './words.ts';

const MAX_DEPTH = 200;

type Ids = ReadonlySet<string>;
type Token = Ids | '&' | '|' | '-' | '(' | ')';

const EMPTY: Ids = new Set();

/**
 * Judges a compound expression as a master does: each term is a set of ids, joined by `&` and
 * `|`; `not X` is everybody without X (Salt: salt/utils/minions.py _check_compound_minions).
 * @throws TargetError or RegexError where the expression is broken.
 */
export function compoundOnMaster(
  tgt: unknown,
  view: TargetView,
  pillarExact: boolean,
): CheckedSets {
  const words = splitWords(tgt);
  if (words === undefined) throw new TargetError('neither text nor a list');
  if (view.dataCache === false) return { minions: view.accepted, missing: [] };
  const builder = new TokenBuilder(view, pillarExact);
  const queue = words.toReversed();
  for (let word = queue.pop(); word !== undefined; word = queue.pop()) {
    if (OPERATORS.has(word)) builder.operator(word);
    else {
      const term = parseTerm(word);
      if (term.engine !== 'N') builder.term(term);
      else queue.push(...expandNodegroup(term.pattern, view.nodegroups).reverse());
    }
  }
  return { minions: new SetEvaluation(builder.finish()).run(), missing: builder.missing };
}

/** Writes the expression that Salt hands to Python, parenthesis by parenthesis. */
class TokenBuilder {
  readonly missing: string[] = [];
  readonly #view: TargetView;
  readonly #pillarExact: boolean;
  readonly #tokens: Token[] = [];
  readonly #open: ('(' | '-')[] = [];

  constructor(view: TargetView, pillarExact: boolean) {
    this.#view = view;
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
    this.#tokens.push('(', this.#view.accepted, '-');
    this.#open.push('-');
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
  }

  term(term: Term): void {
    const negated = this.#tokens.at(-1) === '-';
    const checked = checkTerm(term, this.#view, this.#pillarExact);
    // A list that is excluded need not be there.
    if (!negated) this.missing.push(...checked.missing);
    this.#tokens.push(checked.minions);
    this.#closeNot();
  }

  /** Missing closing parentheses are added, as Salt does. */
  finish(): readonly Token[] {
    return [...this.#tokens, ...this.#open.map(() => ')' as const)];
  }
}

function checkTerm(term: Term, view: TargetView, pillarExact: boolean): CheckedSets {
  const { engine, pattern, delimiter } = term;
  const found = (minions: Ids): CheckedSets => ({ minions, missing: [] });
  switch (engine) {
    case undefined:
      return found(checkText('glob', pattern, view));
    case 'G':
      return found(checkText('grain', pattern, view, delimiter));
    case 'P':
      return found(checkText('grain_pcre', pattern, view, delimiter));
    case 'I':
      return found(checkText(pillarExact ? 'pillar_exact' : 'pillar', pattern, view, delimiter));
    case 'J': {
      const type = pillarExact ? 'pillar_exact' : 'pillar_pcre';
      return found(checkText(type, pattern, view, delimiter));
    }
    case 'L':
      return checkList(pattern, view);
    case 'S':
      return found(checkText('ipcidr', pattern, view));
    case 'E':
      return found(checkText('pcre', pattern, view));
    case 'R':
      return found(view.accepted); // rather too many than too few
    case 'T':
    case 'M':
      return found(EMPTY); // no resources are known
    case 'N':
      throw new TargetError('a nodegroup that was not expanded');
  }
}

/** Python's sets: `-` binds before `&`, `&` before `|`. */
class SetEvaluation {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  run(): Ids {
    const value = this.#or();
    if (this.#at < this.#tokens.length) throw new TargetError('a term without an operator');
    return value;
  }

  #or(): Ids {
    let value = this.#and();
    while (this.#take('|')) value = union(value, this.#and());
    return value;
  }

  #and(): Ids {
    let value = this.#minus();
    while (this.#take('&')) value = intersection(value, this.#minus());
    return value;
  }

  #minus(): Ids {
    let value = this.#atom();
    while (this.#take('-')) value = difference(value, this.#atom());
    return value;
  }

  #atom(): Ids {
    const token = this.#tokens[this.#at];
    this.#at += 1;
    if (token !== undefined && typeof token !== 'string') return token;
    if (token !== '(') throw new TargetError('a term is missing');
    this.#depth += 1;
    if (this.#depth >= MAX_DEPTH) throw new TargetError('nested too deeply');
    const value = this.#or();
    this.#depth -= 1;
    if (!this.#take(')')) throw new TargetError('a parenthesis is missing');
    return value;
  }

  #take(token: Token): boolean {
    if (this.#tokens[this.#at] !== token) return false;
    this.#at += 1;
    return true;
  }
}

function union(left: Ids, right: Ids): Ids {
  const result = new Set(left);
  for (const id of right) result.add(id);
  return result;
}

function intersection(left: Ids, right: Ids): Ids {
  const result = new Set<string>();
  for (const id of left) if (right.has(id)) result.add(id);
  return result;
}

function difference(left: Ids, right: Ids): Ids {
  const result = new Set<string>();
  for (const id of left) if (!right.has(id)) result.add(id);
  return result;
}
