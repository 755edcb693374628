import { SaltFloat, type SaltMap, type SaltValue } from '@brine/wire';
import {
  Alias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  parseAllDocuments,
  type Node,
  type Scalar,
  type YAMLMap,
} from 'yaml';
import { resolvePlain } from './resolve.ts';

/** A text that PyYAML would refuse to load. */
export class YamlLoadError extends Error {
  constructor(text: string, options?: ErrorOptions) {
    super(text, options);
    this.name = 'YamlLoadError';
  }
}

// A text of the command line; deeper nesting is refused rather than risked.
const MAX_DEPTH = 64;
// Characters that cannot begin a token in PyYAML.
const FORBIDDEN_START = /^[%@`]/;

/**
 * Loads one YAML 1.1 document as Salt's loader does: PyYAML's rules for what is a number or a
 * boolean, dates stay text, doubled keys are refused (Salt: salt/utils/yamlloader.py).
 * @throws YamlLoadError
 */
export function loadYaml(text: string): SaltValue {
  if (FORBIDDEN_START.test(text.trimStart())) throw new YamlLoadError('a token cannot start so');
  const documents = parseAllDocuments(text, {
    version: '1.1',
    schema: 'failsafe',
    uniqueKeys: true,
    logLevel: 'silent',
  });
  if (!Array.isArray(documents) || documents.length === 0) return null;
  if (documents.length > 1) throw new YamlLoadError('more than one document');
  const [document] = documents;
  // Tags that the parser does not know are judged where they stand.
  const warning = document?.warnings.find(({ code }) => code !== 'TAG_RESOLVE_FAILED');
  const error = document?.errors[0] ?? warning;
  if (error !== undefined) throw new YamlLoadError(error.message, { cause: error });
  if (/\S[^\n]*$/.test(text)) cutOpenEnd(document?.contents);
  return construct(document?.contents ?? null, 0, (alias) =>
    document === undefined ? undefined : alias.resolve(document),
  );
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

type Resolve = (alias: Alias) => Node | undefined;

function construct(node: unknown, depth: number, resolve: Resolve): SaltValue {
  if (depth > MAX_DEPTH) throw new YamlLoadError('nested too deep');
  if (node === null || node === undefined) return null;
  if (node instanceof Alias) {
    const target = resolve(node);
    if (target === undefined) throw new YamlLoadError(`undefined alias ${node.source}`);
    return construct(target, depth + 1, resolve);
  }
  if (isSeq(node)) {
    needTag(node.tag, 'seq');
    return node.items.map((item) => construct(item, depth + 1, resolve));
  }
  if (isMap(node)) {
    needTag(node.tag, 'map');
    return constructMap(node, depth, resolve);
  }
  if (!isScalar(node)) throw new YamlLoadError('not understood');
  return constructScalar(node);
}

/** Refuses a tag that asks for anything else than the plain value (CVE-2025-62348). */
function needTag(tag: string | undefined, plain: 'seq' | 'map'): void {
  if (tag === undefined || tag === `tag:yaml.org,2002:${plain}`) return;
  throw new YamlLoadError(`could not determine a constructor for the tag ${tag}`);
}

function constructMap(node: YAMLMap, depth: number, resolve: Resolve): SaltMap {
  const map: SaltMap = new Map();
  const merged: SaltMap = new Map();
  for (const pair of node.items) {
    const value = construct(pair.value, depth + 1, resolve);
    if (isScalar(pair.key) && pair.key.type === 'PLAIN' && pair.key.value === '<<') {
      for (const source of Array.isArray(value) ? value : [value]) {
        if (!(source instanceof Map)) throw new YamlLoadError('expected a mapping for merging');
        for (const [key, item] of source) if (!merged.has(key)) merged.set(key, item);
      }
      continue;
    }
    const key = construct(pair.key, depth + 1, resolve);
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
