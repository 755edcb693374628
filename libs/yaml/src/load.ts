import type { SaltValue } from '@brine/wire';
import { keyLines } from './key-lines.ts';
import { compose } from './parse/composer.ts';
import { Cursor, readable } from './parse/cursor.ts';
import type { Node } from './parse/nodes.ts';
import { construct, type Constructing } from './values/construct.ts';
import { YamlWork } from './work.ts';

/**
 * Loads one YAML 1.1 document as Salt's loader does. It accepts and refuses what libyaml does, with
 * the same error texts. Values are those of PyYAML with Salt's rules (Salt:
 * salt/utils/yamlloader.py).
 * @param work default: the limit for a peer
 * @throws YamlLoadError; YamlWorkError for a text that is too large for the work
 */
export function loadYaml(text: string, work = YamlWork.ofPeer()): SaltValue {
  return valueOf(read(text, work), { work, omap: 'pairs' });
}

/**
 * Loads a document as Salt's renderer of SLS files does: an ordered map becomes a map (Salt:
 * salt/renderers/yaml.py). Throws as {@link loadYaml}.
 */
export function loadSls(text: string, work: YamlWork): SaltValue {
  return valueOf(read(text, work), { work, omap: 'map' });
}

/** A file: its value, and the line of each key by its dotted path, from 1. */
export interface YamlFile {
  readonly value: SaltValue;
  readonly lines: ReadonlyMap<string, number>;
}

/** Loads a file of the master; errors contain its name. Throws as {@link loadYaml}. */
export function loadYamlFile(text: string, name: string): YamlFile {
  const work = YamlWork.ofFile();
  const document = read(text, work, name);
  const value = valueOf(document, { work, omap: 'pairs' });
  const { node, cursor } = document;
  return { value, lines: node === undefined ? new Map() : keyLines(node, cursor.text) };
}

interface Document {
  readonly cursor: Cursor;
  readonly node: Node | undefined;
}

function read(text: string, work: YamlWork, name?: string): Document {
  work.spendText(text);
  const cursor = new Cursor(readable(text, name), name);
  return { cursor, node: compose(cursor, work) };
}

function valueOf({ cursor, node }: Document, how: Constructing): SaltValue {
  return node === undefined ? null : construct(node, cursor, how);
}
