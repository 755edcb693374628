import { SaltFloat, type SaltMap, type SaltValue } from '@brine/wire';
import { Alias, isMap, isPair, isScalar, isSeq, type Node, type Scalar, type YAMLMap } from 'yaml';
import { documentsIn } from './documents.ts';
import { YamlLoadError } from './errors.ts';
import { type PlainMeaning, resolvePlain } from './resolve.ts';
import { YamlWork } from './work.ts';

// A text of the command line; deeper nesting is refused rather than risked.
const MAX_DEPTH = 64;
// Characters that cannot begin a token in PyYAML.
const FORBIDDEN_START = /^[%@`]/;

/**
 * Loads one YAML 1.1 document as Salt's loader does: PyYAML's rules for what is a number or a
 * boolean, dates stay text, doubled keys are refused (Salt: salt/utils/yamlloader.py).
 * @param work as of a peer where it is left out
 * @throws YamlLoadError; YamlWorkError for a text that is too large for the work
 */
export function loadYaml(text: string, work = YamlWork.ofPeer()): SaltValue {
  work.spendText(text);
  if (FORBIDDEN_START.test(text.trimStart())) throw new YamlLoadError('a token cannot start so');
  const documents = documentsIn(text, work.showsLines);
  if (documents.length === 0) return null;
  if (documents.length > 1) throw new YamlLoadError('more than one document');
  const [document] = documents;
  if (/\S[^\n]*$/.test(text)) cutOpenEnd(document?.contents);
  const { contents } = document ?? {};
  return construct(contents ?? null, { depth: -1, anchors: new Map(), isAlias: false, work });
}

/** A block scalar that ends with the text ends as it does: the parser adds a line end. */
function cutOpenEnd(contents: unknown): void {
  let node = contents;
  while (isSeq(node) || isMap(node)) {
    const last: unknown = node.items.at(-1);
    node = isPair(last) ? last.value : last;
  }
  if (!isScalar(node) || !node.type?.startsWith('BLOCK_')) return;
  if (typeof node.value === 'string') node.value = node.value.replace(/\n$/, '');
}

/** Where in a document, and what is known of it. */
interface Place {
  readonly depth: number;
  /** The nodes that aliases stand for; the last of a name so far counts. */
  readonly anchors: Map<string, Node>;
  /** True within what an alias stands for. */
  readonly isAlias: boolean;
  readonly work: YamlWork;
}

function construct(node: unknown, above: Place): SaltValue {
  const here = { ...above, depth: above.depth + 1 };
  if (here.depth > MAX_DEPTH + 1) throw new YamlLoadError('nested too deep');
  if (here.isAlias) here.work.spendAliasNode();
  if (node === null || node === undefined) return null;
  if (node instanceof Alias) {
    const target = here.anchors.get(node.source);
    if (target === undefined) throw new YamlLoadError(`undefined alias ${node.source}`);
    return construct(target, { ...here, isAlias: true });
  }
  if (!isSeq(node) && !isMap(node) && !isScalar(node)) throw new YamlLoadError('not understood');
  // Within an alias the names stand for what they do there: nothing is noted twice.
  if (node.anchor !== undefined && !here.isAlias) here.anchors.set(node.anchor, node);
  if (isSeq(node)) {
    needTag(node.tag, 'seq');
    return node.items.map((item) => construct(item, here));
  }
  if (isMap(node)) {
    needTag(node.tag, 'map');
    return constructMap(node, here);
  }
  return constructScalar(node);
}

/** Refuses a tag that asks for anything else than the plain value (CVE-2025-62348). */
function needTag(tag: string | undefined, plain: 'seq' | 'map'): void {
  if (tag === undefined || tag === `tag:yaml.org,2002:${plain}`) return;
  throw new YamlLoadError(`could not determine a constructor for the tag ${tag}`);
}

function constructMap(node: YAMLMap, here: Place): SaltMap {
  const map: SaltMap = new Map();
  const merged: SaltMap = new Map();
  for (const pair of node.items) {
    // A key may be an anchor that its value names.
    const key = construct(pair.key, here);
    const value = construct(pair.value, here);
    if (isScalar(pair.key) && pair.key.type === 'PLAIN' && pair.key.value === '<<') {
      for (const source of Array.isArray(value) ? value : [value]) {
        if (!(source instanceof Map)) throw new YamlLoadError('expected a mapping for merging');
        for (const [key, item] of source) if (!merged.has(key)) merged.set(key, item);
      }
      continue;
    }
    if (Array.isArray(key) || key instanceof Map) throw new YamlLoadError('unhashable key');
    if (map.has(key) || map.has(twinOf(key))) throw new YamlLoadError('Conflicting ID');
    map.set(key, value);
  }
  return new Map([...merged, ...map]);
}

/** The other key that is the same in Python: `True` is 1 there, and `False` 0. */
function twinOf(key: SaltValue): SaltValue {
  if (typeof key === 'boolean') return Number(key);
  if (key === 1 || key === 0) return key === 1;
  return key;
}

function constructScalar(node: Scalar): SaltValue {
  const text = typeof node.value === 'string' ? node.value : '';
  if (node.tag !== undefined && !node.tag.startsWith('tag:yaml.org,2002:')) {
    throw new YamlLoadError(`could not determine a constructor for the tag ${node.tag}`);
  }
  const tag = node.tag?.slice('tag:yaml.org,2002:'.length);
  if (tag === 'binary') return binary(text);
  if (tag === 'str' || (node.type !== 'PLAIN' && tag === undefined)) return text;
  const meaning = resolvePlain(text);
  if (tag === 'float' && meaning.kind === 'int') return new SaltFloat(Number(meaning.value));
  if (tag !== undefined && tag !== meaning.kind) throw new YamlLoadError(`not of type ${tag}`);
  return plainValue(text, meaning);
}

/** The value of an unquoted scalar. */
export function plainValue(text: string, meaning: PlainMeaning = resolvePlain(text)): SaltValue {
  switch (meaning.kind) {
    case 'null':
      return null;
    case 'bool':
      return meaning.value;
    case 'int': {
      const small = Number(meaning.value);
      return Number.isSafeInteger(small) ? small : meaning.value;
    }
    case 'float':
      return Number.isInteger(meaning.value) ? new SaltFloat(meaning.value) : meaning.value;
    default:
      return text;
  }
}

/** Text where the bytes are text, as every binary that Salt sends. */
function binary(base64: string): SaltValue {
  const bytes = Buffer.from(base64, 'base64');
  const text = bytes.toString('utf8');
  return Buffer.from(text, 'utf8').equals(bytes) ? text : new Uint8Array(bytes);
}
