import { SaltFloat, type SaltMap, type SaltValue } from '@brine/wire';
import { pyRepr, pyStr } from '@brine/wire/text';
import type { YamlLoadError } from '../errors.ts';
import type { Cursor } from '../parse/cursor.ts';
import type { MappingNode, Node, ScalarNode } from '../parse/nodes.ts';
import type { YamlWork } from '../work.ts';
import { bytesOfBase64 } from './base64.ts';
import { tagOf, VALUE, YAML_TAG } from './implicit-tags.ts';
import { recursionFault, withMerged } from './merge-keys.ts';
import { taggedBool, taggedFloat, taggedInt } from './tagged.ts';

/** How values are made. */
export interface Constructing {
  readonly work: YamlWork;
  /** Value of `!!omap`: a map, or a list of pairs. */
  readonly omap: 'map' | 'pairs';
}

/**
 * The value of a node, as PyYAML's safe constructor makes it with those of Salt (Salt:
 * salt/utils/yamlloader.py): dates stay texts, a key twice is an error, no tag makes an object of
 * Python (CVE-2025-62348).
 *
 * A level is made when the level around it is complete, as in PyYAML, so that the first error is
 * the same. Each alias gets a value of its own.
 *
 * @throws YamlLoadError; YamlWorkError if it needs too much work
 */
export function construct(node: Node, cursor: Cursor, how: Constructing): SaltValue {
  const constructor = new Constructor(cursor, how);
  const value = constructor.value(node);
  constructor.fillAll();
  return value;
}

const UNICODE = `${YAML_TAG}python/unicode`;

class Constructor {
  readonly #cursor: Cursor;
  readonly #how: Constructing;
  #unfilled: (() => void)[] = [];

  constructor(cursor: Cursor, how: Constructing) {
    this.#cursor = cursor;
    this.#how = how;
  }

  fillAll(): void {
    while (this.#unfilled.length > 0) {
      const level = this.#unfilled;
      this.#unfilled = [];
      for (const fill of level) fill();
    }
  }

  value(node: Node): SaltValue {
    if (node.within !== undefined) throw recursionFault(node, this.#cursor);
    const tag = tagOf(node);
    const value = tag.startsWith(YAML_TAG)
      ? this.#tagged(tag.slice(YAML_TAG.length), node)
      : undefined;
    if (value !== undefined) return value;
    throw this.#fault(`could not determine a constructor for the tag ${pyRepr(tag)}`, node);
  }

  /** Undefined for a tag that makes no plain value. */
  #tagged(name: string, node: Node): SaltValue | undefined {
    switch (name) {
      case 'str':
      case 'timestamp':
        return this.#text(node);
      case 'python/unicode':
        return this.#unicode(node);
      case 'null':
        return nothing(this.#text(node));
      case 'bool':
        return taggedBool(this.#text(node));
      case 'int':
        return taggedInt(this.#text(node));
      case 'float':
        return taggedFloat(this.#text(node));
      case 'binary':
        return this.#bytes(node);
      case 'seq':
        return this.#list(node);
      case 'map':
        return this.#map(node);
      case 'set':
        return this.#set(node);
      case 'omap':
        return this.#how.omap === 'map' ? this.#map(node) : this.#pairs(node, 'an ordered map');
      case 'pairs':
        return this.#pairs(node, 'pairs');
      default:
        return undefined;
    }
  }

  #text(node: Node): string {
    return this.#scalar(node).value;
  }

  /** In Salt the nodes of a list or a map become a value that nothing can print or send. */
  #unicode(node: Node): SaltValue {
    if (node.kind === 'scalar') return node.value;
    if (isEmpty(node)) return [];
    throw this.#fault(`expected a scalar node, but found ${node.kind}`, node);
  }

  /** The key `=` of a map gives its scalar value. */
  #scalar(node: Node): ScalarNode {
    if (node.kind === 'scalar') return node;
    const pair =
      node.kind === 'mapping' ? node.pairs.find(([key]) => tagOf(key) === VALUE) : undefined;
    if (pair !== undefined) return this.#scalar(pair[1]);
    throw this.#fault(`expected a scalar node, but found ${node.kind}`, node);
  }

  #bytes(node: Node): Uint8Array {
    const bytes = bytesOfBase64(this.#text(node));
    if (typeof bytes !== 'string') return bytes;
    throw this.#fault(bytes, node);
  }

  #list(node: Node): SaltValue[] {
    const list: SaltValue[] = [];
    this.#unfilled.push(() => {
      if (node.kind !== 'sequence') {
        throw this.#fault(`expected a sequence node, but found ${node.kind}`, node);
      }
      for (const item of node.items) list.push(this.value(item));
    });
    return list;
  }

  #map(node: Node): SaltMap {
    const map: SaltMap = new Map();
    this.#unfilled.push(() => this.#fillMap(node, (key, value) => map.set(key, value)));
    return map;
  }

  #set(node: Node): SaltValue[] {
    const keys: SaltValue[] = [];
    this.#unfilled.push(() => this.#fillMap(node, (key) => keys.push(key)));
    return keys;
  }

  #fillMap(node: Node, add: (key: SaltValue, value: SaltValue) => void): void {
    if (node.kind !== 'mapping') {
      throw this.#fault(`expected a mapping node, but found ${node.kind}`, node);
    }
    const known = new Set<unknown>();
    const knownBytes = new Set<string>();
    for (const [keyNode, valueNode] of withMerged(node, this.#cursor)) {
      const key = this.#key(keyNode, node);
      const value = this.value(valueNode);
      const same = equalInPython(key);
      const among = key instanceof Uint8Array ? knownBytes : known;
      if (among.has(same)) {
        throw this.#faultInMap(`found conflicting ID '${pyStr(key)}'`, keyNode, node);
      }
      among.add(same);
      add(key, value);
    }
  }

  #key(node: Node, map: MappingNode): SaltValue {
    const key = this.#keyValue(node);
    if (!Array.isArray(key) && !(key instanceof Map)) return key;
    const shown = node.kind === 'scalar' ? node.value : listRepr(node, this.#how.work);
    throw this.#faultInMap(`found unacceptable key ${shown}`, node, map);
  }

  #keyValue(node: Node): SaltValue {
    if (node.kind !== 'scalar') return tagOf(node) === UNICODE ? [] : this.value(node);
    return tagOf(node) === VALUE ? node.value : this.value(node);
  }

  #pairs(node: Node, what: string): SaltValue[] {
    const pairs: SaltValue[] = [];
    const refuse = (problem: string, at: Node): never => {
      throw this.#fault(problem, at, { context: `while constructing ${what}`, from: node.start });
    };
    this.#unfilled.push(() => {
      if (node.kind !== 'sequence') {
        return refuse(`expected a sequence, but found ${node.kind}`, node);
      }
      for (const item of node.items) {
        if (item.kind !== 'mapping') {
          return refuse(`expected a mapping of length 1, but found ${item.kind}`, item);
        }
        const [pair] = item.pairs;
        if (pair === undefined || item.pairs.length > 1) {
          const found = `${item.pairs.length} items`;
          return refuse(`expected a single mapping item, but found ${found}`, item);
        }
        pairs.push([this.value(pair[0]), this.value(pair[1])]);
      }
    });
    return pairs;
  }

  #faultInMap(problem: string, at: Node, map: MappingNode): YamlLoadError {
    return this.#fault(problem, at, {
      context: 'while constructing a mapping',
      from: map.start,
    });
  }

  #fault(
    problem: string,
    { start: at }: Node,
    context?: { readonly context: string; readonly from: number },
  ): YamlLoadError {
    return this.#cursor.faultAt({ kind: 'constructor', problem, at, ...context });
  }
}

function isEmpty(node: Node): boolean {
  if (node.kind === 'scalar') return node.value === '';
  return (node.kind === 'sequence' ? node.items : node.pairs).length === 0;
}

/** The value of `!!null`, whatever its text. */
function nothing(_text: string): null {
  return null;
}

/** The same for keys that are equal in Python, as 1, 1.0 and True. Bytes become hex digits. */
function equalInPython(key: SaltValue): unknown {
  if (key instanceof Uint8Array) return Buffer.from(key).toString('hex');
  if (typeof key === 'boolean') return Number(key);
  const value = key instanceof SaltFloat ? key.value : key;
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? BigInt(value as number) : value;
}

/** As `repr` shows the nodes of a list or a map (PyYAML: lib/yaml/nodes.py). */
function listRepr(node: Node, work: YamlWork): string {
  if (node.kind === 'scalar') {
    // Aliases may repeat one long text.
    work.spendText(node.value);
    return pyRepr(node.value);
  }
  const repr = (one: Node): string => nodeRepr(one, work);
  if (node.kind === 'sequence') return `[${node.items.map(repr).join(', ')}]`;
  const pairs = node.pairs.map(([key, value]) => `(${repr(key)}, ${repr(value)})`);
  return `[${pairs.join(', ')}]`;
}

const CLASSES = { scalar: 'ScalarNode', sequence: 'SequenceNode', mapping: 'MappingNode' } as const;

function nodeRepr(node: Node, work: YamlWork): string {
  return `${CLASSES[node.kind]}(tag=${pyRepr(tagOf(node))}, value=${listRepr(node, work)})`;
}
