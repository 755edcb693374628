import { pyRepr } from '@brine/wire/text';
import { JinjaError } from '../errors.ts';
import { parseBlockFilters, parseExpression, parseParameters, parseTuple } from './expressions.ts';
import { tokensOf, type Whitespace } from './lexer.ts';
import {
  parseExtends,
  parseFromImport,
  parseImport,
  parseImportData,
  parseInclude,
} from './module-tags.ts';
import { parseOneTarget, parseTarget } from './targets.ts';
import { TokenCursor } from './token-cursor.ts';
import type { BlockNode, Body, Expression, Statement, Target } from './tree.ts';

/** A parsed template. */
export interface Template {
  readonly body: Body;
  /** By their names, at any depth. */
  readonly blocks: ReadonlyMap<string, BlockNode>;
}

const NO_PARAMETERS = { names: [], defaults: [] };

/**
 * Parses a template of Salt's dialect: Jinja with `do`, loop controls, `with` and Salt's
 * `load_*`, `import_*` and `profile` tags.
 * @throws JinjaError (Syntax)
 */
export function parseTemplate(source: string, whitespace: Whitespace): Template {
  const parser = new TemplateParser(new TokenCursor(tokensOf(source, whitespace)));
  try {
    return { body: parser.statements(), blocks: parser.blocks };
  } catch (error) {
    if (error instanceof RangeError) throw new JinjaError('Syntax', 'nested too deeply', 1);
    throw error;
  }
}

/** Reads statements (Jinja: jinja2/parser.py). */
class TemplateParser {
  /** The blocks read so far. */
  readonly blocks = new Map<string, BlockNode>();
  readonly #at: TokenCursor;
  /** The tags that may end each open body, the innermost last. */
  readonly #ends: (readonly string[])[] = [];
  /** The tags that are open, the innermost last. */
  readonly #open: string[] = [];
  readonly #tags: ReadonlyMap<string, () => Statement>;

  constructor(at: TokenCursor) {
    this.#at = at;
    this.#tags = new Map<string, () => Statement>([
      ['block', () => this.#block()],
      ['break', () => this.#loopControl()],
      ['call', () => this.#call()],
      ['continue', () => this.#loopControl()],
      ['do', () => this.#value('Do')],
      ['extends', () => parseExtends(at)],
      ['filter', () => this.#filterBlock()],
      ['for', () => this.#for()],
      ['from', () => parseFromImport(at)],
      ['if', () => this.#if()],
      ['import', () => parseImport(at)],
      ['import_json', () => parseImportData(at)],
      ['import_text', () => parseImportData(at)],
      ['import_yaml', () => parseImportData(at)],
      ['include', () => parseInclude(at)],
      ['load_json', () => this.#load()],
      ['load_text', () => this.#load()],
      ['load_yaml', () => this.#load()],
      ['macro', () => this.#macro()],
      ['print', () => this.#value('Print')],
      ['profile', () => this.#profile()],
      ['set', () => this.#set()],
      ['with', () => this.#with()],
    ]);
  }

  /** Statements up to a tag that ends the innermost body, or to the end of the template. */
  statements(): Body {
    const children: Statement[] = [];
    for (let token = this.#at.next(); token !== undefined; token = this.#at.next()) {
      const { type, value, line } = token;
      if (type === 'data') children.push({ kind: 'Data', line, text: value });
      else if (type === 'variable-start') {
        children.push({ kind: 'Print', line, value: parseTuple(this.#at, 'variable-end') });
        this.#at.expect('variable-end');
      } else {
        const statement = this.#statement();
        if (statement === undefined) break;
        children.push(statement);
      }
    }
    return { kind: 'Body', line: 1, children };
  }

  #statement(): Statement | undefined {
    const token = this.#at.peek();
    if (token?.type !== 'symbol') return this.#at.fail('tag name expected');
    const tag = token.value;
    if (this.#ends.at(-1)?.includes(tag) === true) return undefined;
    const parse = this.#tags.get(tag);
    if (parse === undefined) return this.#unknown(tag);
    this.#open.push(tag);
    const statement = parse();
    this.#open.pop();
    return statement;
  }

  /** Statements up to one of these tags, which stays. */
  #body(...ends: string[]): Body {
    // Jinja allows Python's colon here (Jinja: parser.py parse_statements).
    this.#at.skip('colon');
    this.#at.expect('block-end');
    this.#ends.push(ends);
    const body = this.statements();
    if (this.#at.peek() === undefined) this.#unknown(undefined);
    this.#ends.pop();
    return body;
  }

  /** The body of a tag, and the tag that ends it. */
  #bodyAndEnd(end: string): Body {
    const body = this.#body(end);
    this.#end();
    return body;
  }

  /** The body of an `else`, if any, and the tag that ends it. */
  #otherwise(end: string): Body | undefined {
    const body = this.#at.skip('symbol', 'else') ? this.#body(end) : undefined;
    this.#end();
    return body;
  }

  #end(): void {
    this.#at.expect('symbol');
    this.#at.expect('block-end');
  }

  /** Jinja's text for an unexpected tag (Jinja: parser.py _fail_ut_eof). */
  #unknown(tag: string | undefined): never {
    const text = [
      tag === undefined ? 'Unexpected end of template.' : `Encountered unknown tag '${tag}'.`,
    ];
    const inner = this.#ends.at(-1);
    if (inner !== undefined) {
      const wanted = inner.map((name) => `'${name}'`).join(' or ');
      text.push(
        tag !== undefined && this.#ends.some((names) => names.includes(tag))
          ? 'You probably made a nesting mistake. Jinja is expecting this tag, but currently ' +
              `looking for ${wanted}.`
          : `Jinja was looking for the following tags: ${wanted}.`,
      );
    }
    const open = this.#open.at(-1);
    if (open !== undefined) {
      text.push(`The innermost block that needs to be closed is '${open}'.`);
    }
    this.#at.fail(text.join(' '));
  }

  #if(): Statement {
    const { line } = this.#at.expect('symbol');
    const test = parseTuple(this.#at, 'block-end');
    const body = this.#body('elif', 'else', 'endif');
    if (this.#at.is('symbol', 'elif')) {
      return { kind: 'If', line, test, body, otherwise: this.#if() };
    }
    const otherwise = this.#otherwise('endif');
    return { kind: 'If', line, test, body, otherwise };
  }

  #for(): Statement {
    const { line } = this.#at.expect('symbol');
    const target = parseTarget(this.#at);
    this.#at.expectName('in');
    const items = parseTuple(this.#at, 'block-end', ['recursive', 'if']);
    const test = this.#at.skip('symbol', 'if') ? parseExpression(this.#at) : undefined;
    const recursive = this.#at.skip('symbol', 'recursive');
    const body = this.#body('endfor', 'else');
    const otherwise = this.#otherwise('endfor');
    return { kind: 'Loop', line, target, items, test, recursive, body, otherwise };
  }

  #set(): Statement {
    const { line } = this.#at.expect('symbol');
    const target = parseTarget(this.#at);
    if (this.#at.skip('operator', '=')) {
      const value = parseTuple(this.#at, 'block-end');
      this.#at.expect('block-end');
      return { kind: 'Assign', line, target, value };
    }
    const filter = this.#at.skip('pipe') ? parseBlockFilters(this.#at) : undefined;
    const body = this.#bodyAndEnd('endset');
    return { kind: 'AssignBlock', line, target, filter, body };
  }

  #macro(): Statement {
    const { line } = this.#at.expect('symbol');
    const name = this.#at.expect('symbol').value;
    const parameters = parseParameters(this.#at);
    const body = this.#bodyAndEnd('endmacro');
    return { kind: 'Macro', line, name, parameters, body };
  }

  #call(): Statement {
    const { line } = this.#at.expect('symbol');
    const parameters = this.#at.is('left-paren') ? parseParameters(this.#at) : NO_PARAMETERS;
    const call = parseExpression(this.#at);
    if (call.kind !== 'Call') this.#at.fail('expected call', line);
    const body = this.#bodyAndEnd('endcall');
    return { kind: 'CallBlock', line, call, parameters, body };
  }

  #filterBlock(): Statement {
    const { line } = this.#at.expect('symbol');
    const filter = parseBlockFilters(this.#at);
    const body = this.#bodyAndEnd('endfilter');
    return { kind: 'FilterBlock', line, filter, body };
  }

  #value(kind: 'Do' | 'Print'): Statement {
    const { line } = this.#at.expect('symbol');
    const value = parseTuple(this.#at, 'block-end');
    this.#at.expect('block-end');
    return { kind, line, value };
  }

  #loopControl(): Statement {
    const token = this.#at.expect('symbol');
    this.#at.expect('block-end');
    return { kind: token.value === 'break' ? 'Break' : 'Continue', line: token.line };
  }

  #with(): Statement {
    const { line } = this.#at.expect('symbol');
    const pairs: { target: Target; value: Expression }[] = [];
    while (!this.#at.is('block-end')) {
      if (pairs.length > 0) this.#at.expect('comma');
      const target = parseOneTarget(this.#at);
      if (!this.#at.skip('operator', '=')) this.#at.unexpected('=');
      pairs.push({ target, value: parseExpression(this.#at) });
    }
    const body = this.#bodyAndEnd('endwith');
    return { kind: 'With', line, pairs, body };
  }

  #load(): Statement {
    const { value, line } = this.#at.expect('symbol');
    this.#at.expectName('as');
    const target = parseTarget(this.#at);
    const body = this.#bodyAndEnd('endload');
    return { kind: 'Load', line, format: value.slice('load_'.length), target, body };
  }

  #profile(): Statement {
    const { line } = this.#at.expect('symbol');
    this.#at.expectName('as');
    const label = parseExpression(this.#at);
    const body = this.#bodyAndEnd('endprofile');
    const children: Statement[] = [{ kind: 'Do', line, value: label }, body];
    return { kind: 'Body', line, children };
  }

  #block(): Statement {
    const { line } = this.#at.expect('symbol');
    const { value: name } = this.#at.expect('symbol');
    if (this.blocks.has(name)) this.#at.fail(`block ${pyRepr(name)} defined twice`, line);
    const scoped = this.#at.skip('symbol', 'scoped');
    const required = this.#at.skip('symbol', 'required');
    const body = this.#body('endblock');
    this.#at.expect('symbol');
    this.#at.skip('symbol', name);
    this.#at.expect('block-end');
    const node: BlockNode = { kind: 'Block', line, name, scoped, required, body };
    this.blocks.set(name, node);
    return node;
  }
}
