import type { SaltValue } from '@brine/wire';
import { keyLines } from './key-lines.ts';
import { compose } from './parse/composer.ts';
import { Cursor, readable } from './parse/cursor.ts';
import { construct } from './values/construct.ts';
import { YamlWork } from './work.ts';

/**
 * Loads one YAML 1.1 document as Salt's loader does: what libyaml takes and refuses, with its
 * words, and the values that PyYAML makes with Salt's own rules (Salt: salt/utils/yamlloader.py).
 * @param work as of a peer where it is left out
 * @throws YamlLoadError; YamlWorkError for a text that is too large for the work
 */
export function loadYaml(text: string, work = YamlWork.ofPeer()): SaltValue {
  work.spendText(text);
  const cursor = new Cursor(readable(text));
  const node = compose(cursor, work);
  return node === undefined ? null : construct(node, cursor);
}

/**
 * The same as Salt's renderer of SLS files loads it: an ordered map is a map there
 * (Salt: salt/renderers/yaml.py). Throws as {@link loadYaml}.
 */
export function loadSls(text: string, work: YamlWork): SaltValue {
  work.spendText(text);
  const cursor = new Cursor(readable(text));
  const node = compose(cursor, work);
  return node === undefined ? null : construct(node, cursor, { omap: 'map' });
}

/** A file: its value, and the line of each key by its dotted path, from 1. */
export interface YamlFile {
  readonly value: SaltValue;
  readonly lines: ReadonlyMap<string, number>;
}

/** Loads a file of the master's own, whose name is in its errors. Throws as {@link loadYaml}. */
export function loadYamlFile(text: string, name: string): YamlFile {
  const work = YamlWork.ofFile();
  work.spendText(text);
  const cursor = new Cursor(readable(text, name), name);
  const node = compose(cursor, work);
  if (node === undefined) return { value: null, lines: new Map() };
  return { value: construct(node, cursor), lines: keyLines(node, cursor.text) };
}
