import { isMap, SaltFloat, type SaltMap, type SaltValue } from '@brine/wire';
import { pyRepr } from '@brine/wire/text';
import { pyLength, sortedValues } from '@brine/wire/text';
import { analyseScalar, escapeOf, isBreak, styleOfText } from './scalar.ts';

/** PyYAML folds lines that are longer than this. */
const BEST_WIDTH = 80;
/** A longer key is written with `? ` (libyaml: yaml_emitter_check_simple_key). */
const MAX_SIMPLE_KEY_BYTES = 128;

/** The same text as PyYAML's safe_dump with libyaml's emitter, keys sorted. */
export class YamlEmitter {
  readonly #step: number;
  readonly #flow: boolean;
  readonly #hasAnchors: boolean;
  /** Names of lists and maps that stand in the value more than once. */
  #anchors: ReadonlyMap<SaltValue, string> = new Map();
  readonly #written = new Set<SaltValue>();
  #out = '';
  #column = 0;
  /** True after a line end and indentation, also after `- ` and `? `. */
  #indention = true;
  #whitespace = true;

  /**
   * @param step columns per level, 2 to 9
   * @param flow everything in `{}` and `[]`
   * @param anchors a list or map that stands in the value more than once is written once
   */
  constructor(step = 2, flow = false, anchors = false) {
    this.#step = step > 1 && step < 10 ? step : 2;
    this.#flow = flow;
    this.#hasAnchors = anchors;
  }

  /** The document of one value, with a line end. */
  dump(value: SaltValue): string {
    if (this.#hasAnchors) this.#anchors = anchorsOf(value);
    this.#node(value, -1, { simpleKey: false, inMapping: false, flowLevel: 0 });
    return `${this.#out}\n`;
  }

  #node(value: SaltValue, indent: number, place: Place): void {
    const flow = this.#flow || place.flowLevel > 0;
    const anchor = this.#anchors.get(value);
    if (anchor !== undefined) {
      const isKnown = this.#written.has(value);
      this.#indicator(`${isKnown ? '*' : '&'}${anchor}`, true, false);
      if (isKnown) return;
      this.#written.add(value);
    }
    if (Array.isArray(value)) {
      if (flow || value.length === 0) this.#flowList(value, indent, place);
      else this.#blockList(value, indent, place);
    } else if (isMap(value)) {
      if (flow || value.size === 0) this.#flowMap(value, indent, place);
      else this.#blockMap(value, indent);
    } else {
      this.#scalar(value, this.#deeper(indent, true), place);
    }
  }

  #deeper(indent: number, flow: boolean): number {
    return indent < 0 ? (flow ? this.#step : 0) : indent + this.#step;
  }

  #blockList(list: readonly SaltValue[], indent: number, place: Place): void {
    // Lists are not indented under their key, unless `? ` or `- ` stands before them.
    const indentless = place.inMapping && !this.#indention;
    const inner = indentless ? Math.max(indent, 0) : this.#deeper(indent, false);
    for (const item of list) {
      this.#lineTo(inner);
      this.#indicator('-', true, true);
      this.#node(item, inner, { simpleKey: false, inMapping: false, flowLevel: 0 });
    }
  }

  #blockMap(map: SaltMap, indent: number): void {
    const inner = this.#deeper(indent, false);
    for (const [key, value] of sortedEntries(map)) {
      this.#lineTo(inner);
      if (isSimpleKey(key)) {
        this.#node(key, inner, { simpleKey: true, inMapping: true, flowLevel: 0 });
        this.#indicator(':', false, false);
      } else {
        this.#indicator('?', true, true);
        this.#node(key, inner, { simpleKey: false, inMapping: true, flowLevel: 0 });
        this.#lineTo(inner);
        this.#indicator(':', true, true);
      }
      this.#node(value, inner, { simpleKey: false, inMapping: true, flowLevel: 0 });
    }
  }

  #flowList(list: readonly SaltValue[], indent: number, place: Place): void {
    const inner = this.#deeper(indent, true);
    const within = { simpleKey: false, inMapping: false, flowLevel: place.flowLevel + 1 };
    this.#indicator('[', true, false, true);
    list.forEach((item, at) => {
      if (at > 0) this.#indicator(',', false, false);
      if (this.#column > BEST_WIDTH) this.#lineTo(inner);
      this.#node(item, inner, within);
    });
    this.#indicator(']', false, false);
  }

  #flowMap(map: SaltMap, indent: number, place: Place): void {
    const inner = this.#deeper(indent, true);
    const flowLevel = place.flowLevel + 1;
    this.#indicator('{', true, false, true);
    sortedEntries(map).forEach(([key, value], at) => {
      if (at > 0) this.#indicator(',', false, false);
      if (this.#column > BEST_WIDTH) this.#lineTo(inner);
      if (isSimpleKey(key)) {
        this.#node(key, inner, { simpleKey: true, inMapping: true, flowLevel });
        this.#indicator(':', false, false);
      } else {
        this.#indicator('?', true, false);
        this.#node(key, inner, { simpleKey: false, inMapping: true, flowLevel });
        if (this.#column > BEST_WIDTH) this.#lineTo(inner);
        this.#indicator(':', true, false);
      }
      this.#node(value, inner, { simpleKey: false, inMapping: true, flowLevel });
    });
    this.#indicator('}', false, false);
  }

  #scalar(value: SaltValue, indent: number, place: Place): void {
    if (value instanceof Uint8Array) {
      this.#binary(value, indent, place);
      return;
    }
    if (typeof value !== 'string') {
      this.#plain(scalarText(value), indent, place);
      return;
    }
    const style = styleOfText(value, place.flowLevel > 0, place.simpleKey);
    if (style === 'plain') this.#plain(value, indent, place);
    else if (style === 'single') this.#single(value, indent, !place.simpleKey);
    else this.#double(value, indent, !place.simpleKey);
  }

  #binary(bytes: Uint8Array, indent: number, place: Place): void {
    const base64 = Buffer.from(bytes).toString('base64');
    const lines = base64.match(/.{1,76}/g) ?? [];
    this.#indicator('!!binary', true, false);
    if (place.flowLevel > 0 || place.simpleKey) {
      this.#double(lines.map((line) => `${line}\n`).join(''), indent, !place.simpleKey);
      return;
    }
    this.#indicator('|', true, false);
    for (const line of lines) {
      this.#write('\n');
      this.#write(' '.repeat(indent) + line);
    }
    this.#indention = false;
    this.#whitespace = false;
  }

  #plain(text: string, indent: number, place: Place): void {
    if (!this.#whitespace) this.#write(' ');
    this.#folded([...text], indent, !place.simpleKey, false);
    this.#whitespace = false;
    this.#indention = false;
  }

  #single(text: string, indent: number, mayBreak: boolean): void {
    this.#indicator("'", true, false);
    this.#folded([...text], indent, mayBreak, true);
    this.#indicator("'", false, false);
  }

  /** Spaces become line ends where the line is long; in quotes a line end is written twice. */
  #folded(text: readonly string[], indent: number, mayBreak: boolean, quoted: boolean): void {
    let spaces = false;
    let breaks = false;
    text.forEach((character, at) => {
      if (character === ' ') {
        const inside = !quoted || (at > 0 && at < text.length - 1);
        const fold = mayBreak && !spaces && this.#column > BEST_WIDTH && inside;
        if (fold && text[at + 1] !== ' ') this.#lineTo(indent);
        else this.#write(' ');
        spaces = true;
        return;
      }
      if (isBreak(character)) {
        if (!breaks && character === '\n') this.#write('\n');
        this.#write(character === '\n' ? '\n' : character);
        if (character !== '\n') this.#column = 0;
        this.#indention = true;
        breaks = true;
        return;
      }
      if (breaks) this.#lineTo(indent);
      this.#write(quoted && character === "'" ? "''" : character);
      this.#indention = false;
      spaces = false;
      breaks = false;
    });
    if (breaks && quoted) this.#lineTo(indent);
  }

  #double(text: string, indent: number, mayBreak: boolean): void {
    this.#indicator('"', true, false);
    const characters = [...text];
    let spaces = false;
    characters.forEach((character, at) => {
      const escape = escapeOf(character);
      if (escape !== undefined || character !== ' ') {
        this.#write(escape ?? character);
        spaces = false;
        return;
      }
      const inside = at > 0 && at < characters.length - 1;
      if (mayBreak && !spaces && this.#column > BEST_WIDTH && inside) {
        this.#lineTo(indent);
        if (characters[at + 1] === ' ') this.#write('\\');
      } else {
        this.#write(' ');
      }
      spaces = true;
    });
    this.#indicator('"', false, false);
  }

  #lineTo(indent: number): void {
    const target = Math.max(indent, 0);
    const blank = this.#indention && this.#whitespace;
    if (!this.#indention || this.#column > target || (this.#column === target && !blank)) {
      this.#write('\n');
    }
    if (this.#column < target) this.#write(' '.repeat(target - this.#column));
    this.#whitespace = true;
    this.#indention = true;
  }

  #indicator(text: string, needSpace: boolean, isIndention: boolean, space = false): void {
    if (needSpace && !this.#whitespace) this.#write(' ');
    this.#write(text);
    this.#whitespace = space;
    this.#indention = this.#indention && isIndention;
  }

  #write(text: string): void {
    this.#out += text;
    this.#column = text === '\n' ? 0 : this.#column + pyLength(text);
  }
}

interface Place {
  readonly simpleKey: boolean;
  readonly inMapping: boolean;
  readonly flowLevel: number;
}

function isSimpleKey(key: SaltValue): boolean {
  if (Array.isArray(key)) return key.length === 0;
  if (isMap(key)) return key.size === 0;
  if (key instanceof Uint8Array) return false;
  const text = typeof key === 'string' ? key : scalarText(key);
  return Buffer.byteLength(text) <= MAX_SIMPLE_KEY_BYTES && !analyseScalar(text).multiline;
}

/** Sorted where Python can compare the keys, in their order otherwise. */
function sortedEntries(map: SaltMap): [SaltValue, SaltValue][] {
  const keys = sortedValues(map.keys()) ?? [...map.keys()];
  return keys.map((key) => [key, map.get(key) ?? null]);
}

/** Formats numbers, booleans and None as PyYAML's representer does. */
function scalarText(value: SaltValue): string {
  if (value === null) return 'null';
  if (typeof value === 'boolean') return String(value);
  const number = value instanceof SaltFloat ? value.value : value;
  const text = pyRepr(value);
  if (typeof number === 'number' && !Number.isSafeInteger(number)) {
    if (text === 'inf') return '.inf';
    if (text === '-inf') return '-.inf';
    if (text === 'nan') return '.nan';
    return !text.includes('.') && text.includes('e') ? text.replace('e', '.0e') : text;
  }
  return text;
}

/** The lists and maps that stand in a value more than once, named in the order of PyYAML. */
function anchorsOf(value: SaltValue): ReadonlyMap<SaltValue, string> {
  const seen = new Set<SaltValue>();
  const anchors = new Map<SaltValue, string>();
  const visit = (one: SaltValue): void => {
    if (!Array.isArray(one) && !isMap(one)) return;
    if (seen.has(one)) {
      const name = `id${String(anchors.size + 1).padStart(3, '0')}`;
      if (!anchors.has(one)) anchors.set(one, name);
      return;
    }
    seen.add(one);
    if (Array.isArray(one)) one.forEach(visit);
    else for (const [, inner] of sortedEntries(one)) visit(inner);
  };
  visit(value);
  return anchors;
}
