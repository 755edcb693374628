import { pyRepr } from '@brine/wire/text';
import nodes from 'nunjucks/src/nodes.js';
import { ExpressionParser } from './expression-parser.ts';
import type { BlockNode, Body, NameNode, PairNode, Statement } from './tree.ts';

type Tag = () => Statement;

/** The tags that join templates (Jinja: jinja2/parser.py), and Salt's imports of data. */
export abstract class ModuleParser extends ExpressionParser {
  /** The blocks read so far. */
  readonly blocks = new Map<string, BlockNode>();
  readonly ofModules: ReadonlyMap<string, Tag> = new Map<string, Tag>([
    ['block', () => this.#block()],
    ['extends', () => this.#extends()],
    ['from', () => this.#from()],
    ['import', () => this.#import()],
    ['import_json', () => this.#importData()],
    ['import_text', () => this.#importData()],
    ['import_yaml', () => this.#importData()],
    ['include', () => this.#include()],
  ]);

  /** Takes the name of the tag and gives its line. */
  start(): number {
    return this.nextToken()?.lineno ?? 0;
  }

  /** Statements up to one of these tags. */
  until(...names: string[]): Body {
    return this.parseUntilBlocks(...names) as Body;
  }

  /** A name that something gets. */
  name(): NameNode {
    const { value, lineno } = this.expect('symbol');
    return new nodes.Symbol(lineno, 0, value) as NameNode;
  }

  #include(): Statement {
    const lineno = this.start();
    const template = this.expression();
    const ignoreMissing =
      this.peekIs('symbol') && this.isAhead('missing') && this.skipSymbol('ignore');
    if (ignoreMissing) this.expectSymbol('missing');
    const withContext = this.parseWithContext() ?? true;
    this.expect('block-end');
    return { typename: 'IncludeTemplate', lineno, template, ignoreMissing, withContext };
  }

  #import(): Statement & { typename: 'Import' } {
    const lineno = this.start();
    const template = this.expression();
    this.expectSymbol('as');
    const target = this.name();
    const withContext = this.parseWithContext();
    this.expect('block-end');
    return { typename: 'Import', lineno, template, target, withContext };
  }

  #importData(): Statement {
    const { value, lineno } = this.expect('symbol');
    this.pushToken({ type: 'symbol', value: 'import', lineno, colno: 0 });
    const format = value.slice('import_'.length);
    return { typename: 'ImportData', lineno, format, from: this.#import() };
  }

  #from(): Statement {
    const lineno = this.start();
    const template = this.expression();
    this.expectSymbol('import');
    const children: (NameNode | PairNode<NameNode, NameNode>)[] = [];
    let withContext: boolean | null = null;
    do {
      withContext = this.parseWithContext();
      if (withContext !== null) break;
      children.push(this.#imported());
      withContext = this.parseWithContext();
    } while (withContext === null && this.skip('comma'));
    this.expect('block-end');
    const names = { typename: 'NodeList', lineno, children } as const;
    return { typename: 'FromImport', lineno, template, names, withContext };
  }

  #imported(): NameNode | PairNode<NameNode, NameNode> {
    const key = this.name();
    const { lineno } = key;
    if (key.value.startsWith('_')) {
      this.fail('names starting with an underline can not be imported', lineno);
    }
    return this.skipSymbol('as') ? { typename: 'Pair', lineno, key, value: this.name() } : key;
  }

  #extends(): Statement {
    const lineno = this.start();
    const template = this.expression();
    this.expect('block-end');
    return { typename: 'Extends', lineno, template };
  }

  #block(): Statement {
    const lineno = this.start();
    const { value: name } = this.expect('symbol');
    if (this.blocks.has(name)) this.fail(`block ${pyRepr(name)} defined twice`, lineno);
    const scoped = this.skipSymbol('scoped');
    const required = this.skipSymbol('required');
    this.expect('block-end');
    const body = this.until('endblock');
    this.expect('symbol');
    this.skipSymbol(name);
    this.expect('block-end');
    const node: BlockNode = { typename: 'Block', lineno, name, scoped, required, body };
    this.blocks.set(name, node);
    return node;
  }
}
