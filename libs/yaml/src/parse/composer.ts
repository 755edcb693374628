import { type YamlFault, YamlLoadError } from '../errors.ts';
import type { YamlWork } from '../work.ts';
import type { Cursor } from './cursor.ts';
import type { MappingNode, Node, ScalarNode, SequenceNode } from './nodes.ts';
import { Scanner } from './scanner.ts';
import type { Token, TokenKind } from './tokens.ts';

/** Maximum nesting. PyYAML is limited only by the stack of the machine. */
const DEPTH_MAX = 500;

/** Tag handles of every document (YAML 1.1, 7.2). */
const HANDLES: readonly (readonly [handle: string, prefix: string])[] = [
  ['!', '!'],
  ['!!', 'tag:yaml.org,2002:'],
];

const NO_VALUE: readonly TokenKind[] = ['key', 'value', 'block end'];
const NO_CONTENT: readonly TokenKind[] = [
  ...(['version', 'tag directive', 'document start', 'document end'] as const),
  'stream end',
];

/**
 * The document of a text, as libyaml 0.2.5 parses it (src/parser.c) and PyYAML composes it, with
 * their errors. Undefined if the text has no document.
 * @throws YamlLoadError; YamlWorkError where aliases stand for too much
 */
export function compose(cursor: Cursor, work: YamlWork): Node | undefined {
  return new Composer(cursor, work).single();
}

/** The properties in front of a node. */
interface Properties {
  readonly start: number;
  readonly anchor: string | undefined;
  readonly tag: string | undefined;
}

/** The node of an anchor. */
interface Anchored {
  readonly node: Node;
  /** Number of nodes in it with itself and those of its aliases; undefined while it is read. */
  size: number | undefined;
}

/** An alias inside its own node. */
function withinItself(node: Node): Node {
  if (node.kind === 'sequence') return { ...node, items: [], within: node };
  return node.kind === 'mapping' ? { ...node, pairs: [], within: node } : node;
}

class Composer {
  readonly #cursor: Cursor;
  readonly #scanner: Scanner;
  readonly #work: YamlWork;
  readonly #anchors = new Map<string, Anchored>();
  #handles = new Map<string, string>();
  #depth = 0;
  /** Nodes so far, those of aliases counted again. */
  #nodes = 0;

  constructor(cursor: Cursor, work: YamlWork) {
    this.#cursor = cursor;
    this.#scanner = new Scanner(cursor);
    this.#work = work;
  }

  single(): Node | undefined {
    if (this.#is('stream end')) return undefined;
    const node = this.#document(true);
    while (this.#is('document end')) this.#take();
    if (this.#is('stream end')) return node;
    const { start: next } = this.#peek();
    this.#begin(false);
    throw this.#fault('composer', 'but found another document', next, {
      context: 'expected a single document in the stream',
      from: node.start,
    });
  }

  #document(isFirst: boolean): Node {
    const isBare = this.#begin(isFirst);
    const node =
      !isBare && this.#is(...NO_CONTENT) ? this.#empty(this.#peek().start) : this.#node(true);
    this.#handles = new Map();
    return node;
  }

  /** Reads directives and `---` in front of a document. True if both are missing. */
  #begin(isFirst: boolean): boolean {
    let hasVersion = false;
    const own = new Map<string, string>();
    const isBare = isFirst && !this.#is('version', 'tag directive', 'document start');
    for (let token = this.#peek(); ; token = this.#peek()) {
      const { start } = token;
      if (token.kind === 'version') {
        if (hasVersion) throw this.#fault('parser', 'found duplicate %YAML directive', start);
        if (token.major !== 1 || (token.minor !== 1 && token.minor !== 2)) {
          throw this.#fault('parser', 'found incompatible YAML document', start);
        }
        hasVersion = true;
      } else if (token.kind === 'tag directive') {
        if (own.has(token.handle)) {
          throw this.#fault('parser', 'found duplicate %TAG directive', start);
        }
        own.set(token.handle, token.prefix);
      } else break;
      this.#take();
    }
    this.#handles = new Map([...HANDLES, ...own]);
    if (isBare) return true;
    const { start } = this.#peek();
    if (!this.#is('document start')) {
      throw this.#fault('parser', 'did not find expected <document start>', start);
    }
    this.#take();
    return false;
  }

  /**
   * Reads a node. @param isBlock block collections are allowed here
   * @param isIndentless a list may begin here at the column of the keys around it
   */
  #node(isBlock: boolean, isIndentless = false): Node {
    const token = this.#peek();
    if (token.kind === 'alias') {
      this.#take();
      return this.#named(token.name, token.start);
    }
    if (this.#depth >= DEPTH_MAX) throw new YamlLoadError('nested too deep');
    this.#depth += 1;
    const properties = this.#properties();
    const node = this.#content(properties, { isBlock, isIndentless });
    this.#depth -= 1;
    return node;
  }

  #named(name: string, at: number): Node {
    const anchored = this.#anchors.get(name);
    if (anchored === undefined) throw this.#fault('composer', 'found undefined alias', at);
    const { node, size } = anchored;
    if (size === undefined) return withinItself(node);
    this.#work.spendAliasNodes(size);
    this.#nodes += size;
    return node;
  }

  #properties(): Properties {
    const first = this.#peek();
    let anchor: string | undefined;
    let tag: Extract<Token, { kind: 'tag' }> | undefined;
    for (let token: Token = first; ; token = this.#peek()) {
      if (token.kind === 'anchor' && anchor === undefined) anchor = token.name;
      else if (token.kind === 'tag' && tag === undefined) tag = token;
      else break;
      this.#take();
    }
    const { start } = first;
    return { start, anchor, tag: tag && this.#wholeTag(tag, start) };
  }

  #wholeTag(tag: Extract<Token, { kind: 'tag' }>, from: number): string | undefined {
    const prefix = tag.handle === '' ? '' : this.#handles.get(tag.handle);
    if (prefix === undefined) {
      const context = { context: 'while parsing a node', from };
      throw this.#fault('parser', 'found undefined tag handle', tag.start, context);
    }
    return prefix + tag.suffix;
  }

  #content(
    properties: Properties,
    { isBlock, isIndentless }: { readonly isBlock: boolean; readonly isIndentless: boolean },
  ): Node {
    const token = this.#peek();
    const { start, anchor } = properties;
    // `!` alone has no meaning for a list or a map; a scalar counts as unquoted.
    const tag = properties.tag === '!' || properties.tag === '' ? undefined : properties.tag;
    const sequence: SequenceNode = { kind: 'sequence', tag, start, items: [] };
    const mapping: MappingNode = { kind: 'mapping', tag, start, pairs: [] };
    if (isIndentless && token.kind === 'block entry') {
      return this.#filled(sequence, anchor, () => this.#indentlessItems(sequence.items));
    }
    if (token.kind === 'scalar') {
      this.#take();
      const { value, style } = token;
      const isPlain = (style === 'plain' && properties.tag === undefined) || properties.tag === '!';
      return this.#filled({ kind: 'scalar', tag, start, value, style, isPlain }, anchor);
    }
    if (token.kind === 'flow sequence start') {
      return this.#filled(sequence, anchor, () => this.#flowItems(sequence.items));
    }
    if (token.kind === 'flow mapping start') {
      return this.#filled(mapping, anchor, () => this.#flowPairs(mapping.pairs));
    }
    if (isBlock && token.kind === 'block sequence start') {
      return this.#filled(sequence, anchor, () => this.#blockItems(sequence.items));
    }
    if (isBlock && token.kind === 'block mapping start') {
      return this.#filled(mapping, anchor, () => this.#blockPairs(mapping.pairs));
    }
    if (anchor === undefined && properties.tag === undefined) {
      const context = `while parsing a ${isBlock ? 'block' : 'flow'} node`;
      const problem = 'did not find expected node content';
      throw this.#fault('parser', problem, token.start, { context, from: start });
    }
    return this.#filled({ ...this.#empty(start), tag, isPlain: !properties.tag }, anchor);
  }

  /** Registers the anchor of a node before its content is read, which may refer to it. */
  #filled<T extends Node>(node: T, anchor: string | undefined, fill?: () => void): T {
    const before = this.#nodes;
    this.#nodes += 1;
    if (anchor === undefined) {
      fill?.();
      return node;
    }
    const first = this.#anchors.get(anchor)?.node;
    if (first !== undefined) {
      const context = { context: 'found duplicate anchor; first occurrence', from: first.start };
      throw this.#fault('composer', 'second occurrence', node.start, context);
    }
    const anchored: Anchored = { node, size: undefined };
    this.#anchors.set(anchor, anchored);
    fill?.();
    anchored.size = this.#nodes - before;
    return node;
  }

  #blockItems(items: Node[]): void {
    const { start } = this.#take();
    while (this.#is('block entry')) {
      const { end } = this.#take();
      items.push(this.#is('block entry', 'block end') ? this.#empty(end) : this.#node(true));
    }
    this.#close('block end', start, 'a block collection', "'-' indicator");
  }

  #indentlessItems(items: Node[]): void {
    while (this.#is('block entry')) {
      const { end } = this.#take();
      items.push(this.#is('block entry', ...NO_VALUE) ? this.#empty(end) : this.#node(true));
    }
  }

  #blockPairs(pairs: MappingNode['pairs']): void {
    const { start } = this.#take();
    while (this.#is('key')) {
      const key = this.#blockValue();
      const value = this.#is('value') ? this.#blockValue() : this.#empty(this.#peek().start);
      pairs.push([key, value]);
    }
    this.#close('block end', start, 'a block mapping', 'key');
  }

  /** Reads the node after a `?` or `:`, also if the sign is implied. */
  #blockValue(): Node {
    const { end } = this.#take();
    return this.#is(...NO_VALUE) ? this.#empty(end) : this.#node(true, true);
  }

  #flowItems(items: Node[]): void {
    const { start } = this.#take();
    for (let isFirst = true; !this.#is('flow sequence end'); isFirst = false) {
      if (!isFirst) {
        this.#close('flow entry', start, 'a flow sequence', "',' or ']'");
        if (this.#is('flow sequence end')) break;
      }
      items.push(this.#is('key') ? this.#onlyPair() : this.#node(false));
    }
    this.#take();
  }

  /** A pair in a list is a map of its own. */
  #onlyPair(): Node {
    const { start } = this.#take();
    const key = this.#is('value', 'flow entry', 'flow sequence end')
      ? this.#skippedKey()
      : this.#node(false);
    let value: Node | undefined;
    if (this.#is('value')) {
      this.#take();
      if (!this.#is('flow entry', 'flow sequence end')) value = this.#node(false);
    }
    value ??= this.#empty(this.#peek().start);
    return { kind: 'mapping', tag: undefined, start, pairs: [[key, value]] };
  }

  /** libyaml 0.2.5 takes the token behind a `?` without a key, whatever it is. */
  #skippedKey(): Node {
    return this.#empty(this.#take().end);
  }

  #flowPairs(pairs: MappingNode['pairs']): void {
    const { start } = this.#take();
    for (let isFirst = true; !this.#is('flow mapping end'); isFirst = false) {
      if (!isFirst) {
        this.#close('flow entry', start, 'a flow mapping', "',' or '}'");
        if (this.#is('flow mapping end')) break;
      }
      pairs.push(this.#flowPair());
    }
    this.#take();
  }

  #flowPair(): [Node, Node] {
    const isOver = (): boolean => this.#is('flow entry', 'flow mapping end');
    if (!this.#is('key')) {
      const key = this.#node(false);
      return [key, this.#empty(this.#peek().start)];
    }
    this.#take();
    const isNone = this.#is('value') || isOver();
    const key = isNone ? this.#empty(this.#peek().start) : this.#node(false);
    if (this.#is('value')) {
      this.#take();
      if (!isOver()) return [key, this.#node(false)];
    }
    return [key, this.#empty(this.#peek().start)];
  }

  /** Takes the token that ends or parts what began at `from`. */
  #close(kind: TokenKind, from: number, what: string, expected: string): void {
    if (!this.#is(kind)) {
      const context = { context: `while parsing ${what}`, from };
      const problem = `did not find expected ${expected}`;
      throw this.#fault('parser', problem, this.#peek().start, context);
    }
    this.#take();
  }

  #empty(start: number): ScalarNode {
    return { kind: 'scalar', tag: undefined, start, value: '', style: 'plain', isPlain: true };
  }

  #peek(): Token {
    return this.#scanner.peek();
  }

  #take(): Token {
    return this.#scanner.take();
  }

  #is(...kinds: readonly TokenKind[]): boolean {
    return kinds.includes(this.#peek().kind);
  }

  #fault(
    kind: YamlFault['kind'],
    problem: string,
    at: number,
    context?: { readonly context: string; readonly from: number },
  ): YamlLoadError {
    return this.#cursor.faultAt({ kind, problem, at, ...context });
  }
}
