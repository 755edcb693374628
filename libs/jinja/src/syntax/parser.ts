import { pyRepr } from '@brine/wire/text';
import nodes from 'nunjucks/src/nodes.js';
import { JinjaError } from '../errors.ts';
import { Lexer, type Whitespace } from './lexer.ts';
import { ModuleParser } from './module-tags.ts';
import type { BlockNode, Body, Expression, NameNode, Statement, Target } from './tree.ts';

/** A parsed template. */
export interface Template {
  readonly body: Body;
  /** By their names, wherever they stand. */
  readonly blocks: ReadonlyMap<string, BlockNode>;
}

/** Tags of nunjucks that Jinja does not have. */
const FOREIGN = new Set(['verbatim', 'ifAsync', 'asyncEach', 'asyncAll', 'switch', 'raw']);
const CONSTANT = "can't assign to 'const'";
const NO_PARAMETERS = { names: [], defaults: [] };

/**
 * Parses a template of Salt's dialect: Jinja with `do`, loop controls, `with` and Salt's
 * `load_*`, `import_*` and `profile` tags.
 * @throws JinjaError (Syntax)
 */
export function parseTemplate(source: string, whitespace: Whitespace): Template {
  const lexer = new Lexer(source, whitespace);
  const parser = new TemplateParser(lexer);
  try {
    return { body: parser.parseAsRoot() as Body, blocks: parser.blocks };
  } catch (error) {
    if (error instanceof RangeError) throw new JinjaError('Syntax', 'nested too deeply', 1);
    throw error;
  }
}

/**
 * The statements. The parser of nunjucks reads `if`; what Jinja has in another form, or Salt
 * besides, is read here.
 */
class TemplateParser extends ModuleParser {
  readonly #ends: (readonly string[])[] = [];
  readonly #tags: string[] = [];

  constructor(lexer: Lexer) {
    super(lexer);
    this.extensions = [
      { tags: ['do'], parse: () => this.#do() },
      { tags: ['print'], parse: () => this.#print() },
      { tags: ['break', 'continue'], parse: () => this.#loopControl() },
      { tags: ['with'], parse: () => this.#with() },
      { tags: ['load_yaml', 'load_json', 'load_text'], parse: () => this.#load() },
      { tags: ['profile'], parse: () => this.#profile() },
    ];
  }

  override parseNodes(): unknown[] {
    const list: unknown[] = [];
    for (;;) {
      const token = this.nextToken();
      if (token === null) return list;
      if (token.type === 'data') {
        list.push({ typename: 'Data', lineno: token.lineno, text: token.value });
      } else if (token.type === 'variable-start') {
        const value = this.parseTuple(['variable-end']);
        this.expect('variable-end');
        list.push({ typename: 'Print', lineno: token.lineno, value });
      } else {
        const statement = this.parseStatement();
        if (statement === null || statement === undefined) return list;
        list.push(statement);
      }
    }
  }

  override parseStatement(): unknown {
    const token = this.peekToken();
    if (token === null || token.type !== 'symbol') {
      return this.fail('tag name expected', (token ?? { lineno: this.lastLine }).lineno);
    }
    if (this.breakOnBlocks?.includes(token.value) === true) return null;
    if (FOREIGN.has(token.value) || !this.#knows(token.value)) this.#unknown(token.value);
    this.#tags.push(token.value);
    const statement = this.#own(token.value) ?? super.parseStatement();
    this.#tags.pop();
    return statement;
  }

  #knows(tag: string): boolean {
    if (this.extensions.some(({ tags }) => tags.includes(tag))) return true;
    return this.ofModules.has(tag) || /^(?:if|for|set|macro|call|filter)$/.test(tag);
  }

  #own(tag: string): Statement | undefined {
    if (tag === 'for') return this.#for();
    if (tag === 'set') return this.#set();
    if (tag === 'call') return this.#call();
    if (tag === 'filter') return this.#filterBlock();
    if (tag === 'macro') return this.#macro();
    return this.ofModules.get(tag)?.();
  }

  override parseUntilBlocks(...names: string[]): unknown {
    const ends = names.filter((name) => name !== 'elseif');
    this.#ends.push(ends);
    const body = super.parseUntilBlocks(...ends);
    if (this.peekToken() === null) this.#unknown(undefined);
    this.#ends.pop();
    return body;
  }

  /** Jinja's words for a tag that it does not expect (Jinja: parser.py _fail_ut_eof). */
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
    const open = this.#tags.at(-1);
    if (open !== undefined) {
      text.push(`The innermost block that needs to be closed is '${open}'.`);
    }
    this.fail(text.join(' '), this.peekToken()?.lineno ?? this.lastLine);
  }

  #target(): Target {
    const first = this.#oneTarget();
    if (!this.peekIs('comma')) return first;
    const children = [first];
    while (this.skip('comma')) {
      if (this.peekToken()?.type !== 'symbol' && !this.peekIs('left-paren')) break;
      children.push(this.#oneTarget());
    }
    return { typename: 'Tuple', lineno: first.lineno, children };
  }

  #oneTarget(): Target {
    if (this.skip('left-paren')) {
      const inner = this.#target();
      this.expect('right-paren');
      return inner;
    }
    const token = this.peekToken();
    if (token !== null && /^(?:string|int|float)$/.test(token.type)) this.fail(CONSTANT);
    if (token?.type === 'operator') this.fail(`unexpected ${pyRepr(token.value)}`);
    const { value, lineno } = this.expect('symbol');
    if (/^(?:true|false|none|True|False|None)$/.test(value)) {
      this.fail(CONSTANT, lineno);
    }
    if (this.skipValue('operator', '.')) {
      const attr = this.expect('symbol').value;
      return { typename: 'NamespaceRef', lineno, name: value, attr };
    }
    return new nodes.Symbol(lineno, 0, value) as NameNode;
  }

  #for(): Statement {
    const lineno = this.start();
    const target = this.#target();
    this.expectSymbol('in');
    const items = this.parseTuple(['block-end'], false, ['recursive', 'if']);
    const test = this.skipSymbol('if') ? this.expression() : undefined;
    const recursive = this.skipSymbol('recursive');
    this.expect('block-end');
    const body = this.until('endfor', 'else');
    let otherwise: Body | undefined;
    if (this.skipSymbol('else')) {
      this.expect('block-end');
      otherwise = this.until('endfor');
    }
    this.advanceAfterBlockEnd();
    return { typename: 'Loop', lineno, target, items, test, recursive, body, otherwise };
  }

  #set(): Statement {
    const lineno = this.start();
    const target = this.#target();
    if (this.skipValue('operator', '=')) {
      const value = this.parseTuple(['block-end']);
      this.expect('block-end');
      return { typename: 'Assign', lineno, target, value };
    }
    const filter = this.peekIs('pipe') ? this.filters(undefined) : undefined;
    this.expect('block-end');
    const body = this.until('endset');
    this.advanceAfterBlockEnd();
    return { typename: 'AssignBlock', lineno, target, filter, body };
  }

  #macro(): Statement {
    const lineno = this.start();
    const name = this.name();
    const args = this.parseSignature();
    this.expect('block-end');
    const body = this.until('endmacro');
    this.advanceAfterBlockEnd();
    return { typename: 'Macro', lineno, name, args, body };
  }

  #call(): Statement {
    const lineno = this.start();
    const args = this.peekIs('left-paren') ? this.parseSignature() : NO_PARAMETERS;
    const call = this.expression();
    if (call.typename !== 'Call') this.fail('expected call', lineno);
    this.expect('block-end');
    const body = this.until('endcall');
    this.advanceAfterBlockEnd();
    return { typename: 'CallBlock', lineno, call, args, body };
  }

  #filterBlock(): Statement {
    const lineno = this.start();
    const filter = this.filters(undefined, true);
    this.expect('block-end');
    const body = this.until('endfilter');
    this.advanceAfterBlockEnd();
    return { typename: 'FilterBlock', lineno, filter, body };
  }

  #do(): Statement {
    const lineno = this.start();
    const value = this.parseTuple(['block-end']);
    this.expect('block-end');
    return { typename: 'Do', lineno, value };
  }

  #print(): Statement {
    const lineno = this.start();
    const value = this.parseTuple(['block-end']);
    this.expect('block-end');
    return { typename: 'Print', lineno, value };
  }

  #loopControl(): Statement {
    const token = this.expect('symbol');
    this.expect('block-end');
    return { typename: token.value === 'break' ? 'Break' : 'Continue', lineno: token.lineno };
  }

  #with(): Statement {
    const lineno = this.start();
    const pairs: { target: Target; value: Expression }[] = [];
    while (!this.peekIs('block-end')) {
      if (pairs.length > 0) this.expect('comma');
      const target = this.#oneTarget();
      if (!this.skipValue('operator', '=')) this.unexpected("'='");
      pairs.push({ target, value: this.expression() });
    }
    this.expect('block-end');
    const body = this.until('endwith');
    this.advanceAfterBlockEnd();
    return { typename: 'With', lineno, pairs, body };
  }

  #load(): Statement {
    const { value, lineno } = this.expect('symbol');
    this.expectSymbol('as');
    const target = this.#target();
    // Salt never asks for the end of the tag: what stands before it is part of the body.
    this.expect('block-end');
    const body = this.until('endload');
    this.advanceAfterBlockEnd();
    return { typename: 'Load', lineno, format: value.slice('load_'.length), target, body };
  }

  #profile(): Statement {
    const lineno = this.start();
    this.expectSymbol('as');
    const label = this.expression();
    this.expect('block-end');
    const body = this.until('endprofile');
    this.advanceAfterBlockEnd();
    const children: Statement[] = [{ typename: 'Do', lineno, value: label }, body];
    return { typename: 'NodeList', lineno, children };
  }
}
