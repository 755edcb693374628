import { matchGlob } from './glob.ts';
import { compileIpcidr } from './ipcidr.ts';
import { inList, matchPath } from './minion-terms.ts';
import { expandNodegroup, OPERATORS } from './nodegroups.ts';
import { compilePythonRegex } from './python-regex/compile.ts';
import type { MinionFacts } from './target.ts';
import { TargetError } from './target.ts';
import type { Term } from './words.ts';
import { parseTerm, splitWords } from './words.ts';
import { Work } from './work.ts';

// Python gives up on deeper nesting ("too many nested parentheses").
const MAX_DEPTH = 200;

type Token = boolean | 'and' | 'or' | 'not' | '(' | ')';

/**
 * Judges a compound expression as a minion does: each term becomes True or False, and Python's
 * boolean operators join them (Salt: salt/matchers/compound_match.py).
 * @throws TargetError or RegexError where the expression is broken, WorkError.
 */
export function compoundOnMinion(tgt: unknown, me: MinionFacts): boolean {
  const work = Work.ofTarget(1);
  const words = splitWords(tgt, work);
  if (words === undefined) throw new TargetError('neither text nor a list');
  const tokens: Token[] = [];
  const queue = words.toReversed();
  for (let word = queue.pop(); word !== undefined; word = queue.pop()) {
    if (isOperator(word)) pushOperator(tokens, word);
    else {
      const term = parseTerm(word);
      if (term.engine !== 'N') tokens.push(matchTerm(term, me, work));
      else queue.push(...expandNodegroup(term.pattern, me.nodegroups ?? {}, work).reverse());
    }
  }
  return new Evaluation(tokens).run();
}

function isOperator(word: string): word is 'and' | 'or' | 'not' | '(' | ')' {
  return OPERATORS.has(word);
}

function pushOperator(tokens: Token[], word: 'and' | 'or' | 'not' | '(' | ')'): void {
  const last = tokens.at(-1);
  if (last === undefined && word !== '(' && word !== 'not') {
    throw new TargetError(`begins with ${word}`);
  }
  if (last === '(' && (word === 'and' || word === 'or')) {
    throw new TargetError(`${word} behind a parenthesis`);
  }
  const joined = last === undefined || last === 'and' || last === 'or' || last === '(';
  if (word === 'not' && !joined) tokens.push('and');
  tokens.push(word);
}

function matchTerm(term: Term, me: MinionFacts, work: Work): boolean {
  const { engine, pattern, delimiter } = term;
  switch (engine) {
    case undefined:
      return matchGlob(pattern, me.id, work);
    case 'G':
      return matchPath(pattern, me.grains, 'glob', { delimiter, work });
    case 'P':
      return matchPath(pattern, me.grains, 'regex', { delimiter, work });
    case 'I':
      return matchPath(pattern, me.pillar, 'glob', { delimiter, work });
    case 'J':
      return matchPath(pattern, me.pillar, 'regex', { delimiter, work });
    case 'L':
      return inList(pattern, me.id);
    case 'S':
      return compileIpcidr(pattern)?.(me.grains, work) ?? false;
    case 'E':
      return compilePythonRegex(pattern, work)(me.id, work);
    case 'T':
    case 'M':
      return false; // this minion manages no resources
    case 'N':
    case 'R':
      throw new TargetError(`no matcher for ${engine}@`); // range needs a library that Salt loads
  }
}

/** Python's `not` > `and` > `or`, with its short circuits. */
class Evaluation {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  run(): boolean {
    const value = this.#or();
    if (this.#at < this.#tokens.length) throw new TargetError('a term without an operator');
    return read(value);
  }

  #or(): Value {
    let value = this.#and();
    while (this.#take('or')) {
      const left = value;
      const right = this.#and();
      value = () => left() || right();
    }
    return value;
  }

  #and(): Value {
    let value = this.#not();
    while (this.#take('and')) {
      const left = value;
      const right = this.#not();
      value = () => left() && right();
    }
    return value;
  }

  #not(): Value {
    if (!this.#take('not')) return this.#atom();
    const value = this.#atom();
    return () => !value();
  }

  /** `True ( … )` is a call to Python: an error, but only when it is reached. */
  #atom(): Value {
    let value = this.#simple();
    while (this.#tokens[this.#at] === '(') {
      this.#simple();
      value = refuse;
    }
    return value;
  }

  #simple(): Value {
    const token = this.#tokens[this.#at];
    this.#at += 1;
    if (typeof token === 'boolean') return () => token;
    if (token !== '(') throw new TargetError('a term is missing');
    if (this.#take(')')) return () => false; // an empty tuple
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

type Value = () => boolean;

function read(value: Value): boolean {
  return value();
}

function refuse(): boolean {
  throw new TargetError('a term without an operator');
}
